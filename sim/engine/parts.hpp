// SPDX-License-Identifier: Apache-2.0
// The parts into which every picosecond of a simulated thread's life is booked.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hvsim::engine {

/// Each `thread::advance` and each wait names the part that it belongs to; there is no remainder
/// part, so the parts of a thread add up to its life time only if nothing was forgotten.
enum class part : std::uint8_t {
  guest,                  ///< guest instructions and TLB hits
  tlb_walk,               ///< hardware table walks after a TLB miss
  trap,                   ///< exit and entry: register save and restore, HCR switch
  irqchip,                ///< per-exit work of a VM without in-kernel vGIC
  fault_software,         ///< abort handling outside the locks: decode, memslot, VMA, GUP
  mmap_lock,              ///< moving and waiting for the mmap_lock line
  mmu_lock_line,          ///< moving the mmu_lock word and the fields that share its line
  mmu_lock_wait,          ///< waiting for another holder of mmu_lock
  table_work,             ///< stage-2 table walks and descriptor updates in the handler
  cache_maintenance,      ///< DC CIVAC loops, IC IVAU, and the DSB that completes them
  tlbi,                   ///< TLB invalidation with its barriers
  allocation,             ///< host page allocation and memcache refill
  zeroing,                ///< clearing fresh host pages
  dirty_log,              ///< bitmap updates in the fault path
  ioctl,                  ///< main thread: ioctl work outside the other parts
  userspace,              ///< KVM_RUN return to the VMM and back
  thread_start,           ///< from pthread_create to the first guest entry
  startup_offset,         ///< the documented correction of one published column, off by default
  idle,                   ///< waiting for other threads or for the next phase
  steal,                  ///< had work to do and no CPU: the host ran another thread, or switched
  lock_holder_preempted,  ///< waiting for a lock while a holder of it had no CPU
  count
};

inline constexpr std::size_t part_count = static_cast<std::size_t>(part::count);

namespace detail {
inline constexpr std::array<std::uint8_t, part_count> places{
    0, 1, 2, 11, 3, 4, 5, 6, 7, 8, 12, 9, 13, 10, 14, 15, 16, 17, 18, 19, 20};
}  // namespace detail

/// Where a part is kept in a thread: those of the fault path side by side, in few cache lines.
constexpr std::size_t place_of(part p) {
  return detail::places[static_cast<std::size_t>(p)];
}

/// Name of a part in results.
constexpr std::string_view to_string(part p) {
  constexpr std::array<std::string_view, part_count> names{"guest",
                                                           "tlb_walk",
                                                           "trap",
                                                           "irqchip",
                                                           "fault_software",
                                                           "mmap_lock",
                                                           "mmu_lock_line",
                                                           "mmu_lock_wait",
                                                           "table_work",
                                                           "cache_maintenance",
                                                           "tlbi",
                                                           "allocation",
                                                           "zeroing",
                                                           "dirty_log",
                                                           "ioctl",
                                                           "userspace",
                                                           "thread_start",
                                                           "startup_offset",
                                                           "idle",
                                                           "steal",
                                                           "lock_holder_preempted"};
  return names[static_cast<std::size_t>(p)];
}

}  // namespace hvsim::engine
