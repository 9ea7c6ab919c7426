// SPDX-License-Identifier: Apache-2.0
// The paravirtual queued spinlock of Linux (kernel/locking/qspinlock_paravirt.h): waiters sleep.
#pragma once

#include <string_view>
#include <vector>

#include "sim/guest/locks/pv_hash.hpp"
#include "sim/guest/locks/queue_nodes.hpp"

namespace hvsim::guest::locks {

/// How a newcomer may get past the queue.
enum class stealing : std::uint8_t {
  never,
  once,   ///< one attempt when it enters (4.5)
  hybrid  ///< for as long as a queue exists whose head does not spin (4.15)
};

/// Each rule by itself; the defaults are those of Linux 6.1.
struct pv_options {
  stealing steal = stealing::hybrid;
  bool wait_early = true;             ///< sleep when the waiter before does not run (4.5)
  bool wait_early_preempted = false;  ///< and when its vCPU is preempted (4.10 to 5.3)
  bool kick_at_promotion = false;     ///< wake the next head when it is promoted (4.2)
  std::uint32_t spin_threshold = 1U << 15;
  std::uint32_t check_period = 256;  ///< PV_PREV_CHECK_MASK + 1
};

struct pv_preset {
  std::string_view kernel;
  pv_options options;
};
/// By kernel version from which on they hold, ascending.
const std::vector<pv_preset>& pv_presets();

class pv_qspinlock {
 public:
  /// `nodes` and `hash` outlive the lock; `number` names it in the hash table, from 1.
  pv_qspinlock(queue_nodes& nodes, pv_hash& hash, std::uint32_t number, const pv_options& o)
      : nodes_(nodes), hash_(hash), number_(number), options_(o) {}

  template <lock_port P>
  void lock(P& p) {
    if (p.compare_exchange(word_.w, 0, q_locked, ~0U) != 0) queue(p);
  }

  template <lock_port P>
  void unlock(P& p) {
    if ((p.compare_exchange(word_.w, q_locked, 0, q_locked_mask) & q_locked_mask) == q_locked)
      return;
    queue_node& head = hash_.remove(p, number_);
    p.store(word_.w, 0, q_locked_mask);
    p.count(lock_event::pv_kick_unlock);
    p.kick(head.cpu);
  }

 private:
  template <lock_port P>
  void queue(P& p) {
    lock_with_node(p, nodes_, word_.w, [&](cpu_number me, std::uint32_t index) {
      queue_node& node = nodes_.node(me, index);
      queue_nodes::prepare(node, me);
      if (!trylock(p)) queue_with(p, node, queue_nodes::encode(me, index));
    });
  }

  /// pv_hybrid_queued_unfair_trylock, pv_queued_spin_steal_lock.
  template <lock_port P>
  bool trylock(P& p) {
    word& w = word_.w;
    if (options_.steal == stealing::never) return p.compare_exchange(w, 0, q_locked, ~0U) == 0;
    constexpr std::uint32_t both = q_locked_mask | q_pending_mask;
    std::uint32_t seen = p.load(w);
    for (;;) {
      if ((seen & both) == 0 && (p.compare_exchange(w, 0, q_locked, both) & both) == 0) {
        p.count(lock_event::pv_lock_stealing);
        return true;
      }
      if (options_.steal == stealing::once) return false;
      if ((seen & q_tail_mask) == 0 || (seen & q_pending_mask) != 0) return false;
      seen = p.spin_until(w, {~0U, seen, false}, no_limit).value;
    }
  }

  template <lock_port P>
  void queue_with(P& p, queue_node& node, std::uint32_t tail) {
    word& w = word_.w;
    const std::uint32_t before = p.exchange(w, tail, q_tail_mask) & q_tail_mask;
    if (before != 0) {
      queue_node& prev = nodes_.decode(before);
      p.store(prev.next, tail, ~0U);
      wait_in_queue(p, node, prev);
    }
    wait_at_head(p, node);
    if (p.compare_exchange(w, tail | q_locked, q_locked, q_tail_mask | q_locked_mask) ==
        (tail | q_locked))
      return;
    const std::uint32_t next = p.spin_until(node.next, {~0U, 0, false}, no_limit).value;
    promote(p, nodes_.decode(next));
  }

  /// pv_wait_node.
  template <lock_port P>
  void wait_in_queue(P& p, queue_node& node, queue_node& prev) {
    for (;;) {
      const spin_end end = spin_in_queue(p, node, prev);
      if (end == spin_end::satisfied) return;
      p.exchange(node.state, vcpu_halted, ~0U);
      if (p.load(node.locked) == 0) {
        p.count(lock_event::pv_wait_node);
        if (end == spin_end::side) p.count(lock_event::pv_wait_early);
        p.halt_while(node.state, {~0U, vcpu_halted, true});
      }
      p.compare_exchange(node.state, vcpu_halted, vcpu_running, ~0U);
      if (p.load(node.locked) != 0) return;
      p.count(lock_event::pv_spurious_wakeup);
    }
  }

  template <lock_port P>
  spin_end spin_in_queue(P& p, queue_node& node, queue_node& prev) {
    const condition promoted{~0U, 1, true};
    if (!options_.wait_early)
      return p.spin_until(node.locked, promoted, options_.spin_threshold).why;
    const side_check halted{&prev.state, {~0U, vcpu_running, false}, options_.check_period};
    if (!options_.wait_early_preempted)
      return p.spin_until(node.locked, promoted, options_.spin_threshold, halted).why;
    for (std::uint32_t i = 0; i < options_.spin_threshold; i += options_.check_period) {
      if (p.load(node.locked) == 0 && p.is_preempted(prev.cpu)) return spin_end::side;
      const spin_end end = p.spin_until(node.locked, promoted, options_.check_period, halted).why;
      if (end != spin_end::limit) return end;
    }
    return spin_end::limit;
  }

  /// pv_wait_head_or_lock. Returns with the lock held.
  template <lock_port P>
  void wait_at_head(P& p, queue_node& node) {
    word& w = word_.w;
    // A node that was hashed for us by the owner before needs no second entry.
    bool hashed = p.load(node.state) == vcpu_hashed;
    for (std::uint32_t sleeps = 0;; ++sleeps) {
      p.store(node.state, vcpu_running, ~0U);
      p.store(w, q_pending, q_pending_mask);
      std::uint32_t left = options_.spin_threshold;
      if (spin_at_head(p, left)) return;
      p.store(w, 0, q_pending_mask);
      if (!hashed) {
        hash_.insert(p, number_, node);
        hashed = true;
        if ((p.exchange(w, q_slow, q_locked_mask) & q_locked_mask) == 0) {
          p.store(w, q_locked, q_locked_mask);
          hash_.remove(p, number_);
          return;
        }
      }
      p.store(node.state, vcpu_hashed, ~0U);
      p.count(lock_event::pv_wait_head);
      if (sleeps != 0) p.count(lock_event::pv_wait_again);
      p.halt_while(w, {q_locked_mask, q_slow, true});
    }
  }

  /// With the pending bit set; true: the lock is ours, and the bit is clear.
  template <lock_port P>
  bool spin_at_head(P& p, std::uint32_t looks) {
    word& w = word_.w;
    constexpr std::uint32_t both = q_locked_mask | q_pending_mask;
    // Nobody may take the lock while the bit is set, so the first free word is ours, unless a
    // stealer's exchange was under way when it was set.
    for (;;) {
      if (p.spin_until(w, {q_locked_mask, 0, true}, looks).why != spin_end::satisfied) return false;
      if ((p.compare_exchange(w, q_pending, q_locked, both) & both) == q_pending) return true;
    }
  }

  /// pv_kick_node: the new head sleeps, so that the unlock must wake it.
  template <lock_port P>
  void promote(P& p, queue_node& next) {
    p.store(next.locked, 1, ~0U);
    if (p.compare_exchange(next.state, vcpu_halted, vcpu_hashed, ~0U) != vcpu_halted) return;
    p.store(word_.w, q_slow, q_locked_mask);
    hash_.insert(p, number_, next);
    if (options_.kick_at_promotion) p.kick(next.cpu);
  }

  queue_nodes& nodes_;
  pv_hash& hash_;
  std::uint32_t number_;
  pv_options options_;
  lone_word word_;
};

}  // namespace hvsim::guest::locks
