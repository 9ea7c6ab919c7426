// SPDX-License-Identifier: Apache-2.0
// SRCU as kvm->srcu: who reads the memslots, and who waits for those readers.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/machine/machine.hpp"
#include "sim/sync/lock_stats.hpp"

namespace hvsim::sync {

/// Sleepable RCU (Linux, kernel/rcu/srcutree.c): a reader counts itself in and out on its own CPU,
/// which contends with nobody and is part of the caller's cost; `synchronize` returns when every
/// section that was open when it began has ended (synchronize_srcu_expedited).
///
/// Used by the fibers of one engine. A thread has one section at a time.
class srcu {
 public:
  explicit srcu(const char* name) : stats_(name, "srcu") {}

  void read_lock(const machine::cpu& c) {
    section& s = reader(c);
    s.open = true;
    s.since = sequence_;
    stats_.acquired();
  }
  /// `length`: of the section.
  void read_unlock(const machine::cpu& c, engine::duration length) {
    stats_.held(length);
    read_unlock_ahead(c);
  }
  /// The section is part of a fault that is handled ahead of the time of its locks: how long it was
  /// is said later, to `lengths`.
  void read_unlock_ahead(const machine::cpu& c) {
    readers_[c.thread->id()].open = false;
    if (!waiters_.empty()) [[unlikely]]
      section_ended(c);
  }

  /// The wait, which is counted as a contended acquisition's, is booked as `p`.
  void synchronize(machine::cpu& c, engine::part p);

  [[nodiscard]] engine::histogram::recorder lengths() { return stats_.holds(); }

  /// Sections as acquisitions, waits of synchronize as contention.
  [[nodiscard]] const lock_stats& stats() const { return stats_; }

 private:
  struct section {
    std::uint64_t since = 0;  ///< how many synchronize had begun before it
    bool open = false;
  };
  struct waiter {
    machine::cpu* who;
    std::uint64_t sequence;
  };
  section& reader(const machine::cpu& c) {
    const std::size_t id = c.thread->id();
    if (id >= readers_.size()) [[unlikely]]
      readers_.resize(id + 1);
    return readers_[id];
  }
  [[nodiscard]] bool older_reader(std::uint64_t sequence) const;
  void section_ended(const machine::cpu& c);

  std::vector<section> readers_;  // by thread
  std::vector<waiter> waiters_;
  std::uint64_t sequence_ = 0;
  lock_stats stats_;
};

}  // namespace hvsim::sync
