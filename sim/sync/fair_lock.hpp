// SPDX-License-Identifier: Apache-2.0
// A first-come-first-served lock over one cache line: the common core of the kernel's queued locks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/machine/machine.hpp"
#include "sim/sync/lock_stats.hpp"

namespace hvsim::sync {

/// Exclusive and shared ownership in order of arrival, as qrwlock's wait_lock queue and
/// qspinlock's MCS queue give it. Every acquisition syncs, so the order of arrival is the order of
/// virtual time.
///
/// A writer whose critical section touches nothing shared ends it before any other thread runs;
/// the next one then takes the lock "by value": it is told when the lock becomes free and moves its
/// own clock there, and nobody ever sleeps. A critical section with a sync inside is still open
/// when others arrive; those park in the queue.
///
/// Line movement is charged where the algorithm causes it. Free lock: the word moves to the
/// new owner once. Contended lock: the owner must fetch the word back from the spinning waiter to
/// release it, and the waiter must fetch it again to see that: two transfers. With a further waiter
/// behind the head, that one sets its waiting mark in the same word as soon as it becomes head:
/// a third.
///
/// A reader's release does not wait for the word: the store-release goes to the line while the
/// core goes on (its result is only tested for waiters). It is posted with its time and takes its
/// place among the line's transfers when the next thread looks at the lock, which saves a sync.
/// With somebody in the queue a release syncs, since it may have to wake.
///
/// Used by the fibers of one engine.
class fair_lock {
 public:
  /// `line_part` is charged for moving the word, `wait_part` for waiting. `what` names the lock in
  /// deadlock reports (a string literal).
  fair_lock(machine::machine& m, engine::part line_part, engine::part wait_part, const char* what)
      : machine_(m), line_part_(line_part), wait_part_(wait_part), what_(what) {}

  void lock_exclusive(machine::cpu& c, lock_stats& stats) {
    c.thread->sync();
    stats.acquired();
    const engine::sim_time arrived = c.thread->now();
    // Later arrivals queue behind this writer, so every release that is on its way comes first.
    if (!posted_.empty()) drain(engine::sim_time{never_});
    if (exclusive_ || readers_ != 0 || !queue_.empty()) [[unlikely]] {
      enqueue(c, true);
      stats.waited(c.thread->now() - arrived);
    } else {
      exclusive_ = true;
      if (arrived >= free_at_) {
        machine_.take_line(c, word_, line_part_);
      } else {
        take_by_value(c);
        stats.waited(c.thread->now() - arrived);
      }
    }
    exclusive_since_ = c.thread->now();
  }

  void unlock_exclusive(machine::cpu& c, lock_stats& stats) {
    c.thread->advance(line_part_, machine_.costs().line_local.mean);
    stats.held(c.thread->now() - exclusive_since_);
    exclusive_ = false;
    free_at_ = c.thread->now();
    word_.owner = c.core;
    word_.free_at = free_at_;
    if (!queue_.empty()) [[unlikely]]
      hand_over(c);
  }

  void lock_shared(machine::cpu& c, lock_stats& stats) {
    c.thread->sync();
    stats.acquired();
    const engine::sim_time arrived = c.thread->now();
    if (exclusive_ || !queue_.empty()) [[unlikely]] {
      enqueue(c, false);
      stats.waited(c.thread->now() - arrived);
      return;
    }
    drain(arrived);
    ++readers_;
    if (arrived < free_at_) [[unlikely]] {
      take_by_value(c);
      stats.waited(c.thread->now() - arrived);
      return;
    }
    const engine::sim_time queued_until = word_.free_at;
    machine_.take_line(c, word_, line_part_);
    if (queued_until > arrived) stats.waited(queued_until - arrived);
  }

  /// `since` is when the caller's lock_shared returned.
  void unlock_shared(machine::cpu& c, lock_stats& stats, engine::sim_time since) {
    c.thread->advance(line_part_, machine_.costs().line_local.mean);
    stats.held(c.thread->now() - since);
    if (queue_.empty() && !c.thread->owner().exploring()) [[likely]] {
      post(c);
      return;
    }
    c.thread->sync();
    drain(c.thread->now());
    apply({c.thread->now(), c.core});
    if (readers_ == 0 && !queue_.empty()) {
      free_at_ = std::max(c.thread->now(), word_.free_at);
      hand_over(c);
    }
  }

  /// Somebody waits: what rwlock_needbreak sees.
  [[nodiscard]] bool contended() const { return !queue_.empty(); }
  [[nodiscard]] bool held_exclusive() const { return exclusive_; }
  [[nodiscard]] std::uint32_t readers() const { return readers_; }

 private:
  struct waiter {
    machine::cpu* who;
    bool exclusive;
  };

  /// A reader's release on its way to the line.
  struct release {
    engine::sim_time at;
    engine::core_id core;
  };

  void post(machine::cpu& c) {
    // Nearly in order: a thread's release lies a short hold after an acquisition in order.
    const release r{c.thread->now(), c.core};
    std::size_t i = posted_.size();
    posted_.push_back(r);
    for (; i > posted_head_ && posted_[i - 1].at > r.at; --i) posted_[i] = posted_[i - 1];
    posted_[i] = r;
  }
  void drain(engine::sim_time until) {
    while (posted_head_ != posted_.size() && posted_[posted_head_].at <= until)
      apply(posted_[posted_head_++]);
    if (posted_head_ == posted_.size()) {
      posted_.clear();
      posted_head_ = 0;
    } else if (posted_head_ >= 256) {
      posted_.erase(posted_.begin(), posted_.begin() + static_cast<std::ptrdiff_t>(posted_head_));
      posted_head_ = 0;
    }
  }
  void apply(const release& r) {
    const engine::sim_time start = std::max(r.at, word_.free_at);
    word_.free_at = start + machine_.transfer_time(word_.owner, r.core);
    word_.owner = r.core;
    --readers_;
    if (readers_ == 0) free_at_ = std::max(free_at_, r.at);
  }

  void take_by_value(machine::cpu& c);
  void enqueue(machine::cpu& c, bool exclusive);
  void hand_over(machine::cpu& c);
  [[nodiscard]] engine::duration hand_off_time(engine::core_id from, engine::core_id to,
                                               bool others_wait) const;

  static constexpr std::int64_t never_ = std::numeric_limits<std::int64_t>::max();

  machine::machine& machine_;
  engine::part line_part_;
  engine::part wait_part_;
  const char* what_;
  machine::line word_;
  engine::sim_time free_at_;
  engine::sim_time exclusive_since_;
  engine::sim_time last_start_;
  bool exclusive_ = false;
  std::uint32_t readers_ = 0;
  std::deque<waiter> queue_;
  std::vector<release> posted_;  // by time, from posted_head_ on
  std::size_t posted_head_ = 0;
};

}  // namespace hvsim::sync
