// SPDX-License-Identifier: Apache-2.0
// The paravirtual ticket lock of Linux 3.12 to 4.1 (arch/x86/kernel/kvm.c): waiters sleep, and the
// one whose turn it is gets kicked.
#pragma once

#include <bit>
#include <memory>
#include <vector>

#include "sim/guest/locks/lock_port.hpp"

namespace hvsim::guest::locks {

/// Which CPU of a guest sleeps for which ticket of which lock; one record a CPU, for all locks.
class ticket_waiters {
 public:
  explicit ticket_waiters(std::uint32_t cpus)
      : records_(std::make_unique<record[]>(cpus)),
        masks_(std::make_unique<lone_word[]>((cpus + per_mask - 1) / per_mask)),
        cpus_(cpus) {}

  /// The caller is about to sleep for ticket `want` of lock `number`, which is not 0.
  template <lock_port P>
  void enter(P& p, std::uint32_t number, std::uint32_t want) {
    record& mine = records_[p.cpu()];
    p.store(mine.lock, 0, ~0U);  // nobody may take a new ticket for one of the old lock
    p.store(mine.want, want, ~0U);
    p.store(mine.lock, number, ~0U);
    p.fetch_or(mask(p.cpu()), bit(p.cpu()));
  }
  template <lock_port P>
  void leave(P& p) {
    p.fetch_and(mask(p.cpu()), ~bit(p.cpu()));
    p.store(records_[p.cpu()].lock, 0, ~0U);
  }
  /// Kicks the CPU that waits for ticket `want`, if one does.
  template <lock_port P>
  void kick(P& p, std::uint32_t number, std::uint32_t want) {
    for (cpu_number first = 0; first < cpus_; first += per_mask) {
      std::uint32_t waiting = p.load(mask(first));
      for (; waiting != 0; waiting &= waiting - 1) {
        const cpu_number c = first + static_cast<cpu_number>(std::countr_zero(waiting));
        if (p.load(records_[c].lock) != number || p.load(records_[c].want) != want) continue;
        p.count(lock_event::released_slow_kicked);
        p.kick(c);
        return;
      }
    }
  }

 private:
  static constexpr std::uint32_t per_mask = 32;
  struct record {
    shared_line line;
    word lock{&line, 0};  ///< number of the lock; 0: none
    word want{&line, 0};
  };
  [[nodiscard]] word& mask(cpu_number c) { return masks_[c / per_mask].w; }
  [[nodiscard]] static std::uint32_t bit(cpu_number c) { return 1U << c % per_mask; }

  std::unique_ptr<record[]> records_;
  std::unique_ptr<lone_word[]> masks_;
  std::uint32_t cpus_;
};

/// First come, first served, asleep or not. Low half of the word: the ticket that is served. High
/// half: the next ticket; tickets are even, and the odd bit says that somebody may sleep.
class pv_ticket {
 public:
  /// `waiters` outlives the lock; `number` names it there, from 1. `spin_threshold`: looks before a
  /// waiter sleeps (SPIN_THRESHOLD).
  pv_ticket(ticket_waiters& waiters, std::uint32_t number, std::uint32_t spin_threshold)
      : waiters_(waiters), number_(number), threshold_(spin_threshold) {}

  template <lock_port P>
  void lock(P& p) {
    const std::uint32_t seen = p.fetch_add(word_.w, one << 16);
    const std::uint32_t mine = next(seen);
    if (served(seen) == mine) return;
    while (p.spin_until(word_.w, {half, mine, true}, threshold_).why != spin_end::satisfied)
      sleep(p, mine);
  }

  template <lock_port P>
  void unlock(P& p) {
    const std::uint32_t before = p.load(word_.w);
    const std::uint32_t turn = (served(before) + one) & half;
    p.store(word_.w, turn, half);
    if ((p.load(word_.w) & slow) == 0) return;
    p.count(lock_event::released_slow);
    // With nobody queued the flag goes; who queues meanwhile makes that fail.
    const std::uint32_t after = (before & ~half) | turn;
    if (next(before) != turn || p.compare_exchange(word_.w, after, after & ~slow, ~0U) != after)
      waiters_.kick(p, number_, turn);
  }

 private:
  static constexpr std::uint32_t half = 0xffff;
  static constexpr std::uint32_t one = 2;
  static constexpr std::uint32_t slow = 1U << 16;
  [[nodiscard]] static std::uint32_t served(std::uint32_t w) { return w & half; }
  [[nodiscard]] static std::uint32_t next(std::uint32_t w) { return (w & ~slow) >> 16; }

  template <lock_port P>
  void sleep(P& p, std::uint32_t mine) {
    p.count(lock_event::taken_slow);
    waiters_.enter(p, number_, mine);
    // The flag before the last look: who unlocks looks the other way round.
    p.fetch_or(word_.w, slow);
    if (served(p.load(word_.w)) == mine) {
      p.count(lock_event::taken_slow_pickup);
    } else {
      p.halt_while(word_.w, {half, mine, false});
    }
    waiters_.leave(p);
  }

  ticket_waiters& waiters_;
  std::uint32_t number_;
  std::uint32_t threshold_;
  lone_word word_;
};

}  // namespace hvsim::guest::locks
