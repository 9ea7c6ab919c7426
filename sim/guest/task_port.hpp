// SPDX-License-Identifier: Apache-2.0
// The lock port of a guest task under both schedulers.
#pragma once

#include <cstdint>

#include "sim/guest/locks/lock_port.hpp"
#include "sim/guest/task.hpp"
#include "sim/machine/machine.hpp"

namespace hvsim::guest {

/// Whether a task waits for a lock with interrupts on (spin_lock) or off (spin_lock_irqsave).
enum class interrupts : std::uint8_t { on, off };

/// Accesses cost the movement of their cache line between the physical cores of the vCPUs. A
/// spinner consumes CPU time until a store that satisfies it has travelled to it; one whose vCPU
/// has no CPU looks when it runs again. Called from the task's fiber.
class task_port {
 public:
  task_port(task& t, machine::machine& m, locks::lock_event_counts& events,
            interrupts while_waiting = interrupts::off)
      : task_(t), machine_(m), events_(events), interrupts_(while_waiting) {}

  [[nodiscard]] locks::cpu_number cpu() const { return task_.cpu.value(); }
  std::uint32_t load(locks::word& w);
  void store(locks::word& w, std::uint32_t bits, std::uint32_t mask);
  std::uint32_t compare_exchange(locks::word& w, std::uint32_t expected, std::uint32_t desired,
                                 std::uint32_t mask);
  std::uint32_t exchange(locks::word& w, std::uint32_t bits, std::uint32_t mask);
  std::uint32_t fetch_or(locks::word& w, std::uint32_t bits);
  std::uint32_t fetch_and(locks::word& w, std::uint32_t bits);
  std::uint32_t fetch_add(locks::word& w, std::uint32_t n);
  locks::spin_result spin_until(locks::word& w, locks::condition c, std::uint64_t iterations,
                                locks::side_check side = {});
  void halt_while(locks::word& w, locks::condition c);
  void kick(locks::cpu_number target);
  [[nodiscard]] bool is_preempted(locks::cpu_number target) const;
  void count(locks::lock_event e) { ++events_[static_cast<std::size_t>(e)]; }

 private:
  void access(locks::word& w);
  void set(locks::word& w, std::uint32_t value);
  [[nodiscard]] bool leaves_guest(const vcpu_thread& v, engine::duration window) const;
  void leave_spin(engine::duration window);

  task& task_;
  machine::machine& machine_;
  locks::lock_event_counts& events_;
  interrupts interrupts_;
};

static_assert(locks::lock_port<task_port>);

}  // namespace hvsim::guest
