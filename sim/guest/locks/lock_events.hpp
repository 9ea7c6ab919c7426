// SPDX-License-Identifier: Apache-2.0
// Event counters of guest locks, under the names of the kernel's lock_event_counts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hvsim::guest::locks {

/// As kernel/locking/lock_events_list.h names them. The three pv_hash_hops and pv_latency_* values
/// of the kernel are averages; here they are sums beside the number of kicks and wake-ups. The last
/// four are debugfs counters of the ticket lock, arch/x86/kernel/kvm.c of Linux 3.12.
enum class lock_event : std::uint8_t {
  pv_hash_hops,        ///< entries looked at while hashing and unhashing
  pv_kick_unlock,      ///< kicks at unlock
  pv_kick_wake,        ///< kicks that found their CPU asleep
  pv_lock_stealing,    ///< acquisitions past the queue
  pv_spurious_wakeup,  ///< a queued waiter woke and was not the head
  pv_wait_again,       ///< the head slept more than once
  pv_wait_early,       ///< slept because the waiter before it did not run
  pv_wait_head,        ///< the head slept
  pv_wait_node,        ///< a queued waiter slept
  lock_pending,        ///< acquisitions by the pending bit
  lock_slowpath,       ///< entries into the queue
  lock_use_node2,      ///< nested queueing: second node of a CPU
  lock_use_node3,
  lock_use_node4,
  lock_no_node,          ///< no node left
  taken_slow,            ///< paravirtual ticket lock: a waiter went to sleep
  taken_slow_pickup,     ///< and found at the last look that it was its turn
  released_slow,         ///< unlocks that found the flag of sleepers
  released_slow_kicked,  ///< and kicked one
  count
};

inline constexpr std::size_t lock_event_count = static_cast<std::size_t>(lock_event::count);

using lock_event_counts = std::array<std::uint64_t, lock_event_count>;

constexpr std::string_view to_string(lock_event e) {
  constexpr std::array<std::string_view, lock_event_count> names{
      "pv_hash_hops",       "pv_kick_unlock", "pv_kick_wake",        "pv_lock_stealing",
      "pv_spurious_wakeup", "pv_wait_again",  "pv_wait_early",       "pv_wait_head",
      "pv_wait_node",       "lock_pending",   "lock_slowpath",       "lock_use_node2",
      "lock_use_node3",     "lock_use_node4", "lock_no_node",        "taken_slow",
      "taken_slow_pickup",  "released_slow",  "released_slow_kicked"};
  return names[static_cast<std::size_t>(e)];
}

}  // namespace hvsim::guest::locks
