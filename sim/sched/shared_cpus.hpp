// SPDX-License-Identifier: Apache-2.0
// Threads of the host under a scheduler, with fewer CPUs than threads.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/sched/scheduler.hpp"

namespace hvsim::sched {

/// Who takes CPUs away.
enum class preemption : std::uint8_t {
  kernel,  ///< Linux: nobody who holds a spinlock or spins for one is preempted before it unlocks
  blind    ///< the CPUs are vCPUs of a hypervisor below, which knows nothing of locks
};

/// A task that always wants a CPU.
class background_task final : public entity {
 public:
  void ready(engine::sim_time) override {}
  void start(engine::sim_time, engine::sim_time) override {}
  void stop(engine::sim_time, off_cpu) override {}
};

/// Puts threads of one engine under a scheduler. Threads that are not added have a CPU of their
/// own. Used by the fibers of that engine.
class shared_cpus final : public engine::cpu_sharing {
 public:
  /// Called when a thread gets a CPU, which may be the one that it had before.
  using placed = std::function<void(cpu_index)>;

  /// From now on the engine's threads are scheduled. `hosts` outlives the run.
  shared_cpus(engine::engine& e, scheduler& hosts, preemption how);
  ~shared_cpus() override;
  shared_cpus(const shared_cpus&) = delete;
  shared_cpus& operator=(const shared_cpus&) = delete;

  /// A new thread is runnable from now on, on CPUs of `allowed`. Called on the fiber of the thread
  /// that made it, which has settled, or before the run. The fiber of `t` calls `resume` first.
  void add(engine::thread& t, cpu_range allowed, placed on_placed);
  /// The thread ends. Called last on its fiber.
  void remove(engine::thread& t);

  void settle(engine::thread& t) override;
  void resume(engine::thread& t) override;
  void woken(engine::thread& sleeper) override;
  void wait_on_cpu(engine::thread& t, engine::part p, engine::sim_time end,
                   engine::cpu_listener& pausing) override;
  void sleep(engine::thread& t) override;
  void disable_preemption(engine::thread& t) override;
  void enable_preemption(engine::thread& t) override;
  [[nodiscard]] bool must_reschedule(const engine::thread& t) const override;
  bool listen(engine::thread& t, engine::cpu_listener& l) override;
  void stop_listening(engine::thread& t, engine::cpu_listener& l) override;

  /// How often a thread was preempted that held a lock.
  [[nodiscard]] std::uint64_t holder_preemptions() const { return holder_preemptions_; }
  /// How often a lock was handed to a waiter that had no CPU.
  [[nodiscard]] std::uint64_t handed_off_cpu() const { return handed_off_cpu_; }

 private:
  class member;
  [[nodiscard]] member* find(const engine::thread& t) const {
    return t.id() < members_.size() ? members_[t.id()].get() : nullptr;
  }
  /// The engine's clock: when the running thread settled last.
  [[nodiscard]] engine::sim_time clock() const;

  engine::engine& engine_;
  scheduler& scheduler_;
  preemption how_;
  std::vector<std::unique_ptr<member>> members_;  // by number of the thread
  std::uint64_t holder_preemptions_ = 0;
  std::uint64_t handed_off_cpu_ = 0;
};

}  // namespace hvsim::sched
