// SPDX-License-Identifier: Apache-2.0
#include "mmu/table_memory.hpp"

#include <sys/mman.h>

#include <cstring>
#include <new>

namespace hvsim::mmu {

namespace {

void* reserve(std::size_t n) {
  void* p = ::mmap(nullptr, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc{};
  // First touch of a 4 KiB page costs a trap of its own; in a huge page 512 tables share one.
  // Best effort: without transparent huge pages only speed is lost.
  (void)::madvise(p, n, MADV_HUGEPAGE);
  return p;
}

}  // namespace

table_memory::table_memory(granule g, engine::bytes capacity, engine::pa base)
    : g_(g), base_(base), capacity_(static_cast<std::uint32_t>(capacity.value() >> g.page_shift)) {
  memory_ = static_cast<std::byte*>(reserve(std::size_t{capacity_} << g_.page_shift));
  try {
    pages_ = static_cast<table_page*>(reserve(capacity_ * sizeof(table_page)));
  } catch (...) {
    ::munmap(memory_, std::size_t{capacity_} << g_.page_shift);
    throw;
  }
}

table_memory::~table_memory() {
  ::munmap(memory_, std::size_t{capacity_} << g_.page_shift);
  ::munmap(pages_, capacity_ * sizeof(table_page));
}

table_page* table_memory::take(std::uint32_t i, level l) {
  table_page* t = pages_ + i;
  std::byte* page = memory_ + (std::size_t{i} << g_.page_shift);
  if (i < touched_) {
    std::memset(page, 0, g_.page_size().value());
  } else {
    new (t) table_page;
    t->entries = reinterpret_cast<descriptor*>(page);
    t->index = i;
    touched_ = i + 1;
  }
  ++t->generation;
  t->refs = 1;
  t->lvl = l;
  t->state = table_state::live;
  if (++live_ > peak_) peak_ = live_;
  return t;
}

table_page* table_memory::alloc_contiguous(level l, unsigned count) {
  if (count == 0 || count > capacity_ - used_) exhausted();
  table_page* first = take(used_++, l);
  for (unsigned i = 1; i < count; ++i) take(used_++, l);
  return first;
}

void table_memory::reset() {
  for (std::uint32_t i = 0; i < used_; ++i) pages_[i].state = table_state::free;
  used_ = 0;
  free_head_ = none;
  live_ = 0;
  peak_ = 0;
}

void table_memory::fail(const char* what, const table_page* t) {
  throw table_error(std::string(what) + ": page " + std::to_string(t->index) + ", generation " +
                    std::to_string(t->generation));
}

void table_memory::exhausted() {
  throw std::bad_alloc{};
}

}  // namespace hvsim::mmu
