// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>

#include "sim/machine/machine.hpp"
#include "sim/sync/lock_stats.hpp"

namespace hvsim::sync {

/// A ticket spinlock, for the fibers of one engine: first come, first served. Everybody watches one
/// cache line, so a release costs a transfer for each watcher until the next owner has read it.
class ticket_lock {
 public:
  ticket_lock(machine::machine& m, const std::string& name, engine::part line, engine::part wait)
      : machine_(m), line_(line), wait_(wait), stats_(name, "spinlock") {}

  void lock(machine::cpu& c) {
    machine_.read_modify_write(c, word_, line_);  // syncs, then takes a ticket
    stats_.acquired();
    if (held_) {
      const engine::sim_time arrived = c.thread->now();
      queue_.push_back(&c);
      c.thread->park(wait_, "a ticket lock");  // unlock() made this thread the owner
      stats_.waited(c.thread->now() - arrived);
    }
    held_ = true;
    since_ = c.thread->now();
  }

  void unlock(machine::cpu& c) {
    machine_.read_modify_write(c, word_, line_);
    stats_.held(c.thread->now() - since_);
    held_ = !queue_.empty();
    if (!held_) return;
    machine::cpu& next = *queue_.front();
    const auto watchers = static_cast<std::int64_t>(queue_.size());
    const engine::sim_time at =
        c.thread->now() + machine_.transfer_time(c.core, next.core) * watchers;
    queue_.pop_front();
    word_ = {at, next.core};
    c.thread->owner().wake(*next.thread, at);
  }

  [[nodiscard]] bool held() const { return held_; }
  [[nodiscard]] bool contended() const { return !queue_.empty(); }
  [[nodiscard]] const lock_stats& stats() const { return stats_; }

 private:
  machine::machine& machine_;
  engine::part line_, wait_;
  lock_stats stats_;
  machine::line word_;
  bool held_ = false;
  engine::sim_time since_;
  std::deque<machine::cpu*> queue_;
};

}  // namespace hvsim::sync
