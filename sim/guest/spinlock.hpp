// SPDX-License-Identifier: Apache-2.0
// A named spinlock of the guest's kernel, whatever its algorithm.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/guest/locks/pv_qspinlock.hpp"
#include "sim/guest/locks/pv_ticket.hpp"
#include "sim/guest/locks/queue_nodes.hpp"
#include "sim/guest/task_port.hpp"
#include "sim/sync/lock_stats.hpp"

namespace hvsim::guest {

/// What all spinlocks of one guest share.
struct lock_context {
  lock_context(machine::machine& m, std::uint32_t cpus, std::uint32_t loops)
      : machine(m), nodes(cpus), hash(cpus), tickets(cpus), pending_loops(loops) {}
  machine::machine& machine;
  locks::queue_nodes nodes;
  locks::pv_hash hash;
  locks::ticket_waiters tickets;
  std::uint32_t pending_loops;  ///< of native queued locks
  locks::lock_event_counts events{};
  std::uint32_t made = 0;  ///< locks so far
};

/// Taken and released by tasks on their own fibers. Preemption by the guest's scheduler is off for
/// as long as a task waits for it or has it; preemption by the host is not.
class spinlock {
 public:
  spinlock(const std::string& name, lock_context& shared)
      : shared_(shared), stats_(name, "spinlock") {}
  virtual ~spinlock() = default;
  spinlock(const spinlock&) = delete;
  spinlock& operator=(const spinlock&) = delete;

  void lock(task& t);
  void unlock(task& t);
  /// Takes it, does kernel work for `d` and lets it go.
  void run_under(task& t, engine::duration d);

  [[nodiscard]] const sync::lock_stats& stats() const { return stats_; }

  /// How the kernel takes it. Set before the run.
  interrupts while_waiting = interrupts::off;

 protected:
  virtual void acquire(task_port& p) = 0;
  virtual void release(task_port& p) = 0;

 private:
  lock_context& shared_;
  sync::lock_stats stats_;
  engine::sim_time since_;
};

/// A lock algorithm that scenarios can name.
struct lock_kind {
  std::string name;
  std::string help;
  std::unique_ptr<spinlock> (*make)(const std::string& name, lock_context& shared,
                                    const locks::pv_options& pv);
};

/// One line an algorithm.
std::vector<lock_kind> register_builtin_guest_locks();
/// Throws std::invalid_argument for an unknown name.
lock_kind find_lock_kind(const std::string& name);

}  // namespace hvsim::guest
