// SPDX-License-Identifier: Apache-2.0
// Memory of translation tables: real pages of 8-byte descriptors with their state beside them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "mmu/descriptor.hpp"

namespace hvsim::mmu {

/// A table was used in a way that would corrupt memory in a real kernel.
class table_error : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

enum class table_state : std::uint8_t {
  free,      ///< not allocated; any access is a use after free
  live,      ///< allocated, linked or about to be
  detached,  ///< unlinked from its tree, waiting for its grace period
};

/// A page that holds one table. The handle stays valid as long as its table_memory.
struct table_page {
  descriptor* entries = nullptr;  ///< granule.entries() descriptors
  std::uint32_t index = 0;        ///< position in its table_memory
  std::uint32_t refs = 0;         ///< 1 + entries that are counted, as KVM uses page counts
  std::uint32_t generation = 0;   ///< goes up with each allocation of this page
  std::uint32_t next_free = 0;    ///< link of the free list
  level lvl = level::l3;          ///< level of the entries in it
  table_state state = table_state::free;
};

/// Arena of table pages of one granule.
///
/// Address space is reserved once and backed by huge pages as it is touched, so that an allocation
/// costs the zeroing of a page and a table address turns into its handle by arithmetic. Pages come
/// back zeroed. Not thread-safe: one simulation uses it from one host thread (any fiber).
class table_memory {
 public:
  /// `capacity`: most bytes of tables at one time (address space only, not memory).
  /// `base`: physical address of the first page; tables of one VM lie from there upwards.
  /// Throws std::bad_alloc when the address space cannot be reserved.
  explicit table_memory(granule g, engine::bytes capacity = engine::gibibytes(16),
                        engine::pa base = engine::pa{std::uint64_t{1} << 46});
  ~table_memory();
  table_memory(const table_memory&) = delete;
  table_memory& operator=(const table_memory&) = delete;

  /// A zeroed live page with refs 1. Throws std::bad_alloc when the capacity is used up.
  table_page* alloc(level l) { return take(pop(), l); }
  /// `count` pages side by side (concatenated start tables); returns the first.
  table_page* alloc_contiguous(level l, unsigned count);
  /// Returns a page. Throws table_error on a double free.
  void free(table_page* t) {
    if (t->state == table_state::free) fail("double free", t);
    t->state = table_state::free;
    t->refs = 0;
    t->next_free = free_head_;
    free_head_ = t->index;
    --live_;
  }
  /// Takes a reference. Throws table_error on a free page.
  void get(table_page* t) {
    if (t->state == table_state::free) fail("get_page of a freed table", t);
    ++t->refs;
  }
  /// Drops a reference and frees the page with the last one; returns whether it did.
  bool put(table_page* t) {
    if (t->state == table_state::free) fail("put_page of a freed table", t);
    if (--t->refs != 0) return false;
    free(t);
    return true;
  }
  /// Throws table_error if the page is free; for ports that check every access.
  static void check_access(const table_page* t) {
    if (t->state == table_state::free) fail("use of a freed table", t);
  }

  [[nodiscard]] engine::pa address(const table_page* t) const {
    return base_ + engine::bytes{std::uint64_t{t->index} << g_.page_shift};
  }
  /// The page at a table address. Precondition: `a` lies in this memory (see contains).
  [[nodiscard]] table_page* at(engine::pa a) const {
    return pages_ + ((a.value() - base_.value()) >> g_.page_shift);
  }
  /// The entries of the page at a table address; the same as at(a)->entries with one load less.
  [[nodiscard]] descriptor* entries_at(engine::pa a) const {
    return reinterpret_cast<descriptor*>(memory_ + (a.value() - base_.value()));
  }
  [[nodiscard]] bool contains(engine::pa a) const {
    return a >= base_ && ((a.value() - base_.value()) >> g_.page_shift) < used_;
  }
  [[nodiscard]] granule granularity() const { return g_; }
  /// Pages allocated now.
  [[nodiscard]] std::size_t live_pages() const { return live_; }
  [[nodiscard]] engine::bytes peak_bytes() const {
    return engine::bytes{std::uint64_t{peak_} << g_.page_shift};
  }
  /// Frees everything and forgets the peak; memory that was touched is kept for the next run.
  void reset();

 private:
  static constexpr std::uint32_t none = 0xFFFFFFFF;
  [[noreturn]] static void fail(const char* what, const table_page* t);
  [[noreturn]] static void exhausted();
  std::uint32_t pop() {
    if (free_head_ != none) {
      const std::uint32_t i = free_head_;
      free_head_ = pages_[i].next_free;
      return i;
    }
    if (used_ == capacity_) exhausted();
    return used_++;
  }
  table_page* take(std::uint32_t i, level l);

  granule g_;
  engine::pa base_;
  std::uint32_t capacity_;     // pages
  std::uint32_t used_ = 0;     // pages handed out at least once since reset
  std::uint32_t touched_ = 0;  // pages handed out at least once ever: no longer zero
  std::uint32_t free_head_ = none;
  std::uint32_t live_ = 0;
  std::uint32_t peak_ = 0;
  std::byte* memory_ = nullptr;
  table_page* pages_ = nullptr;
};

}  // namespace hvsim::mmu
