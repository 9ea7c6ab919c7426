// SPDX-License-Identifier: Apache-2.0
// The word of a queued spinlock, and the nodes that its waiters queue with.
//
// Layout: include/asm-generic/qspinlock_types.h for fewer than 16384 CPUs.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "sim/guest/locks/lock_port.hpp"

namespace hvsim::guest::locks {

inline constexpr std::uint32_t q_locked = 1;
inline constexpr std::uint32_t q_slow = 3;  ///< held, and a kick is due (paravirtual)
inline constexpr std::uint32_t q_locked_mask = 0xff;
inline constexpr std::uint32_t q_pending = 1U << 8;
inline constexpr std::uint32_t q_pending_mask = 0xff00;
inline constexpr std::uint32_t q_tail_mask = 0xffff'0000;

/// State of a waiter of a paravirtual lock.
enum node_state : std::uint32_t { vcpu_running = 0, vcpu_halted = 1, vcpu_hashed = 2 };

/// One waiter: three words of one line.
struct queue_node {
  shared_line line;
  word locked{&line, 0};
  word next{&line, 0};  ///< encoded tail of the next waiter; 0: none yet
  word state{&line, 0};
  cpu_number cpu = 0;
};

/// Four nodes for each CPU of a guest (task, softirq, irq, nmi), shared by all its locks.
class queue_nodes {
 public:
  static constexpr std::uint32_t per_cpu = 4;

  explicit queue_nodes(std::uint32_t cpus)
      : nodes_(std::make_unique<queue_node[]>(std::size_t{cpus} * per_cpu)),
        depth_(std::make_unique<std::uint32_t[]>(cpus)) {}

  /// Index of the next node of a CPU, to be given back with `release`; per_cpu: none is left.
  std::uint32_t take(cpu_number c) { return depth_[c]++; }
  void release(cpu_number c) { --depth_[c]; }

  [[nodiscard]] queue_node& node(cpu_number c, std::uint32_t index) {
    return nodes_[std::size_t{c} * per_cpu + index];
  }
  /// As it stands in the lock word.
  [[nodiscard]] static std::uint32_t encode(cpu_number c, std::uint32_t index) {
    return (c + 1) << 18 | index << 16;
  }
  [[nodiscard]] queue_node& decode(std::uint32_t tail) {
    return node((tail >> 18) - 1, tail >> 16 & 3);
  }
  /// Nobody else can see the node yet.
  static void prepare(queue_node& n, cpu_number c) {
    n.locked.value = 0;
    n.next.value = 0;
    n.state.value = vcpu_running;
    n.cpu = c;
  }

 private:
  std::unique_ptr<queue_node[]> nodes_;
  std::unique_ptr<std::uint32_t[]> depth_;
};

/// The slow path of a queued lock: `wait(me, index)` takes the lock with the CPU's next node;
/// without a node left, the lock is taken by trying.
template <lock_port P, class F>
void lock_with_node(P& p, queue_nodes& nodes, word& w, F&& wait) {
  p.count(lock_event::lock_slowpath);
  const cpu_number me = p.cpu();
  const std::uint32_t index = nodes.take(me);
  if (index >= queue_nodes::per_cpu) {
    p.count(lock_event::lock_no_node);
    while (p.compare_exchange(w, 0, q_locked, ~0U) != 0) p.spin_until(w, {~0U, 0, true}, no_limit);
  } else {
    wait(me, index);
  }
  nodes.release(me);
}

}  // namespace hvsim::guest::locks
