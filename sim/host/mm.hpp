// SPDX-License-Identifier: Apache-2.0
// The host process that owns the VM: its VMAs, its page table, its mmap_lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/engine/units.hpp"
#include "sim/host/zeroed_array.hpp"
#include "sim/machine/machine.hpp"
#include "sim/sync/locks.hpp"

namespace hvsim::host {

/// Kind of host memory behind a memslot, by the selftests' names.
enum class backing : std::uint8_t { anonymous, anonymous_thp, anonymous_hugetlb_2mb, shmem };

/// Throws std::invalid_argument for an unknown name.
backing backing_from(std::string_view name);
/// Page size in which the host maps it: 4 KiB or 2 MiB.
engine::bytes page_size_of(backing b);

/// One mapping of the process.
struct vma {
  engine::hva begin;
  engine::bytes size;
  backing kind = backing::anonymous;
  unsigned page_shift = 12;            ///< host pages of this mapping: 12 or 21
  zeroed_array<std::uint32_t> frames;  ///< per host page: frame number in its units + 1; 0: absent
};

/// A page of the host page table.
struct host_page {
  engine::pfn first;    ///< first 4 KiB frame of the (compound) page
  unsigned page_shift;  ///< 12 or 21
};

/// One mm_struct. The page allocator behind it hands out frames in the order of first touch and
/// clears them. Used by the fibers of one engine.
class mm {
 public:
  explicit mm(machine::machine& m);

  /// Maps memory; returns its index. `begin` is aligned by the caller as the selftests align it.
  std::size_t map(engine::hva begin, engine::bytes size, backing kind);

  /// Unmaps everything (exit of the process).
  void clear();

  /// Lockless walk of the page table (get_user_pages_fast).
  [[nodiscard]] std::optional<host_page> lookup(std::size_t vma_index, engine::hva address) const {
    const vma& v = vmas_[vma_index];
    const std::uint32_t f = v.frames[(address - v.begin).value() >> v.page_shift];
    if (f == 0) return std::nullopt;
    return host_page{engine::pfn{(std::uint64_t{f} - 1) << (v.page_shift - 12)}, v.page_shift};
  }

  /// The slow path: takes mmap_lock for read, allocates and clears the page, maps it. Another
  /// thread may have been faster; then its page is returned.
  host_page fault_in(machine::cpu& c, std::size_t vma_index, engine::hva address, bool take_lock);

  /// The line of a page's reference count, which is in its own struct page: of the whole huge page
  /// for one of 2 MiB. For pages that several threads can reach; others cost as an owned line does.
  [[nodiscard]] machine::line& reference_count(const host_page& p) {
    const std::uint64_t frame = p.first.value();
    if (p.page_shift > 12) return huge_counts_[frame];
    auto& near = small_counts_[frame / frames_together];
    if (!near) near = std::make_unique<count_lines>();
    return (*near)[frame % frames_together];
  }

  /// Makes every page present without charging time: memory that the VMM wrote before the
  /// measurement.
  void populate(std::size_t vma_index);

  [[nodiscard]] const vma& mapping(std::size_t index) const { return vmas_[index]; }
  [[nodiscard]] sync::rwsem& mmap_lock() { return lock_; }
  [[nodiscard]] const sync::rwsem& mmap_lock() const { return lock_; }
  /// Bytes of page tables.
  [[nodiscard]] engine::bytes table_bytes() const;

 private:
  static constexpr std::size_t frames_together = 512;
  using count_lines = std::array<machine::line, frames_together>;

  std::uint32_t allocate(unsigned page_shift);

  machine::machine& machine_;
  sync::rwsem lock_;
  std::vector<vma> vmas_;
  std::unordered_map<std::uint64_t, machine::line> huge_counts_;  // by first frame
  std::unordered_map<std::uint64_t, std::unique_ptr<count_lines>> small_counts_;
  std::uint64_t next_frame_ = 0x100000;  // 4 GiB: above what firmware and kernel take
};

}  // namespace hvsim::host
