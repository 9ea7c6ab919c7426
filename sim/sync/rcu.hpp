// SPDX-License-Identifier: Apache-2.0
// RCU: read-side sections, call_rcu and grace periods.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/machine/machine.hpp"
#include "sim/sync/lock_stats.hpp"

namespace hvsim::sync {

/// Tree RCU as a stage-2 walker sees it: entering and leaving a section costs nothing
/// (PREEMPT_NONE), callbacks run in softirq context after a grace period, in order of call_rcu.
/// Callbacks run on a daemon thread of the engine. Used by the fibers of one engine.
///
/// Sections nest; the outermost one is what is counted and timed.
class rcu {
 public:
  using callback = std::function<void(machine::cpu&)>;

  /// `softirq_core` runs the callbacks.
  rcu(engine::engine& e, machine::machine& m, engine::core_id softirq_core);

  void read_lock(machine::cpu& c) {
    auto& r = reader(c);
    if (r.nesting++ != 0) return;
    r.since = ++sequence_;
    sections_.acquired();
  }
  /// `length`: of the section that began with the read_lock to which this belongs.
  void read_unlock(machine::cpu& c, engine::duration length) {
    if (--readers_[c.thread->id()].nesting != 0) return;
    sections_.held(length);
    if (waiting_for_readers_) [[unlikely]]
      wake_softirq(c);
  }

  /// Runs `work` after every section that is open now has ended.
  void call(machine::cpu& c, callback work);

  /// Waits until every callback queued so far has run; the wait is booked as `p`.
  void barrier(machine::cpu& c, engine::part p);

  [[nodiscard]] std::uint64_t callbacks_run() const { return callbacks_.hold().count(); }

  /// Read-side sections as acquisitions, waits of barrier as contention.
  [[nodiscard]] const lock_stats& section_stats() const { return sections_; }
  /// Calls of call_rcu as acquisitions, the time until each callback began as contention (its grace
  /// period, and those before it), the time that it ran as hold.
  [[nodiscard]] const lock_stats& callback_stats() const { return callbacks_; }

 private:
  struct section {
    std::uint32_t nesting = 0;
    std::uint64_t since = 0;  // order of execution, which sync keeps in line with time
  };
  struct pending {
    engine::sim_time queued;
    std::uint64_t sequence;
    callback work;
  };
  section& reader(machine::cpu& c) {
    const std::size_t id = c.thread->id();
    if (id >= readers_.size()) readers_.resize(id + 1);
    return readers_[id];
  }
  [[nodiscard]] bool older_reader(std::uint64_t sequence) const;
  void softirq(engine::thread& t);
  void wake_softirq(machine::cpu& c);

  machine::machine& machine_;
  machine::cpu cpu_;
  std::vector<section> readers_;
  std::deque<pending> queue_;
  std::vector<machine::cpu*> barriers_;
  std::uint64_t sequence_ = 0;
  bool waiting_for_readers_ = false;
  lock_stats sections_{"rcu", "rcu"};
  lock_stats callbacks_{"call_rcu", "rcu"};
};

}  // namespace hvsim::sync
