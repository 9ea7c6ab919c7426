// SPDX-License-Identifier: Apache-2.0
// A small kernel of a guest: tasks, sleeping and waking, spinlocks.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/guest/spinlock.hpp"
#include "sim/guest/task.hpp"
#include "sim/machine/machine.hpp"
#include "sim/sched/scheduler.hpp"

namespace hvsim::guest {

struct kernel_options {
  std::string lock = "qspinlock";  ///< name of a lock_kind
  locks::pv_options pv;
  engine::duration sleep_cost = engine::nanoseconds(500);  ///< kernel work to block
  engine::duration wake_cost = engine::nanoseconds(500);   ///< kernel work to wake a task
  std::uint64_t seed = 1;
};

/// One guest. Methods that take a `task&` first are called from that task's fiber.
class kernel {
 public:
  /// What a task does; it ends when this returns.
  using body = std::function<void(task&)>;

  kernel(engine::engine& e, machine::machine& m, vm& v, const kernel_options& o);

  /// A task from `begin` on, before the run.
  task& start(std::string name, engine::sim_time begin, body what,
              sched::cpu_range cpus = {0, ~0U});
  /// A task made by another one.
  task& fork(task& parent, std::string name, body what, sched::cpu_range cpus = {0, ~0U});
  /// Blocks until `wake`, at once: call it right after `t` has settled and seen that it must wait.
  void sleep(task& t);
  /// Makes `sleeper` runnable if it sleeps.
  void wake(task& t, task& sleeper);
  /// Blocks for `d`, or until `wake`.
  void sleep_for(task& t, engine::duration d);

  /// `while_waiting`: whether the kernel takes it with spin_lock or with spin_lock_irqsave.
  spinlock& make_lock(const std::string& name, interrupts while_waiting = interrupts::off);

  [[nodiscard]] vm& machine() { return vm_; }
  [[nodiscard]] const std::vector<std::unique_ptr<task>>& tasks() const { return tasks_; }
  [[nodiscard]] const std::vector<std::unique_ptr<spinlock>>& spinlocks() const { return locks_; }
  [[nodiscard]] const locks::lock_event_counts& lock_events() const { return shared_.events; }
  /// Sums over all tasks that have ended, and the time that they existed for.
  [[nodiscard]] const sched::ledger& ended() const { return ended_; }
  [[nodiscard]] engine::duration lifetimes() const { return lifetimes_; }

 private:
  task& make(std::string name, engine::sim_time begin, sched::cpu_range cpus, body what,
             bool already_added);
  void live(task& t, engine::sim_time born, const body& what);

  engine::engine& engine_;
  vm& vm_;
  kernel_options options_;
  lock_kind kind_;
  lock_context shared_;
  std::vector<std::unique_ptr<task>> tasks_;
  std::vector<sched::timer_id> alarms_;  // by task number
  std::vector<std::unique_ptr<spinlock>> locks_;
  sched::ledger ended_;
  engine::duration lifetimes_;
};

}  // namespace hvsim::guest
