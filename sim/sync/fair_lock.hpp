// SPDX-License-Identifier: Apache-2.0
// A first-come-first-served lock over one cache line: the common core of the kernel's queued locks.
#pragma once

#include <cstdint>
#include <deque>

#include "sim/engine/engine.hpp"
#include "sim/machine/machine.hpp"
#include "sim/sync/holder_watch.hpp"
#include "sim/sync/lock_stats.hpp"

namespace hvsim::sync {

/// What a waiter does with its CPU, where CPUs are shared.
enum class waiting : std::uint8_t {
  spins,  ///< keeps it; like the holder it is not preempted, unless a hypervisor below does it
  sleeps  ///< gives it up
};

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
/// A reader's release is an atomic whose result is tested for waiters, so it waits for the word
/// like an acquisition.
///
/// Where threads share CPUs, a release settles first, so that a lock is free when its holder got so
/// far and not earlier, and nobody takes it by value before that. A lock that is handed to a waiter
/// without a CPU is that waiter's: nobody passes it.
///
/// Used by the fibers of one engine.
class fair_lock {
 public:
  /// `line_part` is charged for moving the word, `wait_part` for waiting. `what` names the lock in
  /// deadlock reports (a string literal).
  fair_lock(machine::machine& m, engine::part line_part, engine::part wait_part, const char* what,
            waiting how = waiting::spins)
      : machine_(m),
        line_place_(engine::place_of(line_part)),
        line_part_(line_part),
        wait_part_(wait_part),
        what_(what),
        how_(how) {}

  void lock_exclusive(machine::cpu& c, lock_stats& stats) {
    c.thread->sync();
    if (try_exclusive(c, stats)) [[likely]]
      return;
    stats.acquired();
    const engine::sim_time arrived = c.thread->now();
    enqueue(c, true);
    stats.waited(c.thread->now() - arrived);
    exclusive_since_ = c.thread->now();
    taken(c, stats, true);
  }

  /// Takes the lock if that needs no sleep. The caller has synced.
  [[gnu::always_inline]] bool try_exclusive(machine::cpu& c, lock_stats& stats) {
    if (exclusive_ || readers_ != 0 || !queue_.empty()) [[unlikely]]
      return false;
    stats.acquired();
    const engine::sim_time arrived = c.thread->now();
    exclusive_ = true;
    if (arrived >= free_at_) {
      machine_.take_line(c, word_, line_part_);
    } else {
      take_by_value(c);
      stats.waited(c.thread->now() - arrived);
    }
    exclusive_since_ = c.thread->now();
    taken(c, stats, true);
    return true;
  }

  void unlock_exclusive(machine::cpu& c, lock_stats& stats) {
    dropped(c, stats, true);
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
    stats.acquired();
    join_readers(c, stats);
  }
  /// The same for a caller that counts the acquisition at another time.
  void join_readers(machine::cpu& c, lock_stats& stats) {
    c.thread->sync();
    const engine::sim_time arrived = c.thread->now();
    const engine::sim_time queued_until = word_.free_at;
    if (exclusive_ || !queue_.empty()) [[unlikely]] {
      enqueue(c, false);
      stats.waited(c.thread->now() - arrived);
    } else if (++readers_; arrived < free_at_) [[unlikely]] {
      take_by_value(c);
      stats.waited(c.thread->now() - arrived);
    } else {
      machine_.take_line(c, word_, line_part_);
      if (queued_until > arrived) stats.waited(queued_until - arrived);
    }
    taken(c, stats, false);
  }

  /// `since` is when the caller's lock_shared returned.
  void unlock_shared(machine::cpu& c, lock_stats& stats, engine::sim_time since) {
    stats.held(c.thread->now() - since);
    leave_readers(c, stats);
  }
  /// The same for a caller that says at another time how long it held the lock.
  void leave_readers(machine::cpu& c, const lock_stats& stats) {
    c.thread->sync();
    dropped(c, stats, false);
    machine_.take_line(c, word_, line_part_);
    --readers_;
    if (readers_ == 0) {
      free_at_ = c.thread->now();
      if (!queue_.empty()) [[unlikely]]
        hand_over(c);
    }
  }

  /// Takes (or drops) the lock shared, for a caller that has synced and counts by itself; as
  /// join_readers and leave_readers without observers, but shaped so that the host need not guess
  /// which of the two it is. False: the lock is not free, or somebody waits for it; nothing was
  /// done. `now`: the thread's time afterwards. `queued`: the wait for the word, if positive.
  [[gnu::always_inline]] bool shared_turn(engine::thread& t, engine::core_id core, bool take,
                                          engine::sim_time& now, engine::duration& queued) {
    const engine::sim_time arrived = t.now();
    const unsigned one = take ? 1 : 0;
    const unsigned taken_over = static_cast<unsigned>(exclusive_) | (arrived < free_at_ ? 1U : 0U);
    if ((static_cast<unsigned>(!queue_.empty()) | (taken_over & one)) != 0) [[unlikely]]
      return false;
    queued = word_.free_at - arrived;
    now = machine_.book_line(t, core, word_, line_place_);
    readers_ += 2 * one - 1;
    if (readers_ == 0) free_at_ = now;
    return true;
  }

  /// Somebody waits: what rwlock_needbreak sees.
  [[nodiscard]] bool contended() const { return !queue_.empty(); }
  [[nodiscard]] bool held_exclusive() const { return exclusive_; }
  [[nodiscard]] std::uint32_t readers() const { return readers_; }

 private:
  struct waiter {
    machine::cpu* who;
    bool exclusive;
    engine::duration* behind;  // see wait_sharing; null where CPUs are not shared
  };

  void taken(machine::cpu& c, const lock_stats& stats, bool exclusive) {
    if (c.thread->owner().tracked()) [[unlikely]]
      tell_taken(c, stats, exclusive);
  }
  void dropped(machine::cpu& c, const lock_stats& stats, bool exclusive) {
    if (c.thread->owner().tracked()) [[unlikely]]
      tell_dropped(c, stats, exclusive);
  }
  void tell_taken(machine::cpu& c, const lock_stats& stats, bool exclusive);
  void tell_dropped(machine::cpu& c, const lock_stats& stats, bool exclusive);
  void wait_sharing(engine::cpu_sharing& cpus, machine::cpu& c, bool exclusive);
  void give(const waiter& next, engine::sim_time now);
  void take_by_value(machine::cpu& c);
  void enqueue(machine::cpu& c, bool exclusive);
  void hand_over(machine::cpu& c);
  [[nodiscard]] engine::duration hand_off_time(engine::core_id from, engine::core_id to,
                                               bool others_wait) const;

  machine::machine& machine_;
  std::size_t line_place_;
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
  waiting how_;
  holder_watch holders_;
};

}  // namespace hvsim::sync
