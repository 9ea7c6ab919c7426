// SPDX-License-Identifier: Apache-2.0
// The queued spinlock of Linux (kernel/locking/qspinlock.c): pending bit, then an MCS queue.
#pragma once

#include "sim/guest/locks/queue_nodes.hpp"

namespace hvsim::guest::locks {

struct qspinlock_options {
  /// Looks at a word in which only the pending bit is set: _Q_PENDING_LOOPS, 512 on x86 and
  /// powerpc, 1 elsewhere.
  std::uint32_t pending_loops = 1;
};

/// First come, first served: who has to wait at all can be overtaken by nobody.
class qspinlock {
 public:
  /// `nodes` outlives the lock.
  qspinlock(queue_nodes& nodes, const qspinlock_options& o) : nodes_(nodes), options_(o) {}

  template <lock_port P>
  void lock(P& p) {
    const std::uint32_t seen = p.compare_exchange(word_.w, 0, q_locked, ~0U);
    if (seen != 0 && !take_pending(p, seen)) queue(p);
  }

  template <lock_port P>
  void unlock(P& p) {
    p.store(word_.w, 0, q_locked_mask);
  }

 private:
  /// The place of the second contender, without a node.
  template <lock_port P>
  bool take_pending(P& p, std::uint32_t seen) {
    word& w = word_.w;
    if (seen == q_pending)
      seen = p.spin_until(w, {~0U, q_pending, false}, options_.pending_loops).value;
    if ((seen & ~q_locked_mask) != 0) return false;
    seen = p.fetch_or(w, q_pending);
    if ((seen & ~q_locked_mask) != 0) {
      if ((seen & q_pending_mask) == 0) p.store(w, 0, q_pending_mask);
      return false;
    }
    if ((seen & q_locked_mask) != 0) p.spin_until(w, {q_locked_mask, 0, true}, no_limit);
    p.store(w, q_locked, q_locked_mask | q_pending_mask);
    p.count(lock_event::lock_pending);
    return true;
  }

  template <lock_port P>
  void queue(P& p) {
    lock_with_node(p, nodes_, word_.w, [&](cpu_number me, std::uint32_t index) {
      if (index != 0) p.count(nested(index));
      queue_with(p, nodes_.node(me, index), queue_nodes::encode(me, index));
    });
  }

  template <lock_port P>
  void queue_with(P& p, queue_node& node, std::uint32_t tail) {
    word& w = word_.w;
    queue_nodes::prepare(node, p.cpu());
    if (p.compare_exchange(w, 0, q_locked, ~0U) == 0) return;
    const std::uint32_t before = p.exchange(w, tail, q_tail_mask) & q_tail_mask;
    if (before != 0) {
      p.store(nodes_.decode(before).next, tail, ~0U);
      p.spin_until(node.locked, {~0U, 1, true}, no_limit);
    }
    const std::uint32_t seen =
        p.spin_until(w, {q_locked_mask | q_pending_mask, 0, true}, no_limit).value;
    if (seen == tail && p.compare_exchange(w, tail, q_locked, ~0U) == tail) return;
    p.store(w, q_locked, q_locked_mask);
    const std::uint32_t next = p.spin_until(node.next, {~0U, 0, false}, no_limit).value;
    p.store(nodes_.decode(next).locked, 1, ~0U);
  }

  static lock_event nested(std::uint32_t index) {
    return static_cast<lock_event>(static_cast<std::uint32_t>(lock_event::lock_use_node2) + index -
                                   1);
  }

  queue_nodes& nodes_;
  qspinlock_options options_;
  lone_word word_;
};

}  // namespace hvsim::guest::locks
