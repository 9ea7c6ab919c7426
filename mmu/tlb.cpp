// SPDX-License-Identifier: Apache-2.0
#include "mmu/tlb.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

namespace hvsim::mmu {

tlb::tlb(const tlb_geometry& geometry, granule g) : geometry_(geometry), g_(g) {
  if (geometry.l1_entries == 0) throw std::invalid_argument("tlb: l1_entries must be at least 1");
  if (geometry.l2_ways == 0 || geometry.l2_ways > 255 ||
      geometry.l2_entries % geometry.l2_ways != 0 ||
      !std::has_single_bit(unsigned{geometry.l2_entries} / geometry.l2_ways))
    throw std::invalid_argument("tlb: l2_entries / l2_ways must be a power of two");
  if (!std::has_single_bit(unsigned{geometry.walk_entries}))
    throw std::invalid_argument("tlb: walk_entries must be a power of two");
  for (int l = 0; l < 4; ++l)
    shifts_[l] = static_cast<std::uint8_t>(g.shift(static_cast<level>(l)));
  walk_shift_ = g.shift(level::l2);
  const std::size_t sets = geometry.l2_entries / geometry.l2_ways;
  set_mask_ = static_cast<std::uint32_t>(sets - 1);
  walk_mask_ = geometry.walk_entries - 1U;
  ways_ = geometry.l2_ways;
  constexpr std::size_t line = 64;
  const std::size_t used = ways_ * (sizeof(std::uint64_t) + sizeof(std::uint32_t));
  set_bytes_ = static_cast<std::uint32_t>((used + line - 1) / line * line);
  sets_.reset(static_cast<std::byte*>(::operator new (sets* set_bytes_, std::align_val_t{line})));
  data_ = std::make_unique<tlb_entry[]>(geometry.l2_entries);
  victims_ = std::make_unique<std::uint8_t[]>(sets);
  stage1_walks_.resize(geometry.walk_entries);
  stage2_walks_.resize(geometry.walk_entries);
  clear();
}

void tlb::clear() {
  std::memset(sets_.get(), 0, (std::size_t{set_mask_} + 1) * set_bytes_);
  std::fill_n(data_.get(), geometry_.l2_entries, tlb_entry{});
  std::fill_n(victims_.get(), std::size_t{set_mask_} + 1, 0);
  std::fill(stage1_walks_.begin(), stage1_walks_.end(), stage1_slot{});
  std::fill(stage2_walks_.begin(), stage2_walks_.end(), stage2_slot{});
  contexts_.clear();
  stage2_contexts_.clear();
  current_ = {0, 0};
  stage2_current_ = {0, 0};
  last_context_ = 0;
  last_stamp_ = geometry_.l1_entries;  // a stamp of zero is older than L1
  start_anew();
  classes_ = 0;
  has_large_blocks_ = false;
}

std::uint64_t tlb::new_context() {
  if (last_context_ == max_context) clear();
  return ++last_context_;
}

std::uint64_t tlb::find_context(std::uint32_t key) {
  for (const context_record& c : contexts_) {
    if (c.key == key) {
      current_ = c;
      return c.number;
    }
  }
  current_ = {key, new_context()};
  contexts_.push_back(current_);
  return current_.number;
}

std::uint64_t tlb::find_stage2_context(std::uint32_t key) {
  for (const context_record& c : stage2_contexts_) {
    if (c.key == key) {
      stage2_current_ = c;
      return c.number;
    }
  }
  stage2_current_ = {key, new_context()};
  stage2_contexts_.push_back(stage2_current_);
  return stage2_current_.number;
}

void tlb::invalidate_stage1(engine::vmid v) {
  std::erase_if(contexts_, [v](const context_record& c) { return c.key >> 16 == v.value(); });
  if (current_.key >> 16 == v.value()) current_.number = 0;
  if (contexts_.empty()) start_anew();
}

void tlb::invalidate_vmid(engine::vmid v) {
  invalidate_stage1(v);
  std::erase_if(stage2_contexts_, [v](const context_record& c) { return c.key == v.value(); });
  if (stage2_current_.key == v.value()) stage2_current_.number = 0;
}

void tlb::invalidate_ipa(engine::vmid v, engine::ipa at) {
  // A block above level 2 is remembered in several slots.
  if (has_large_blocks_)
    return invalidate_range(v, at.align_down(g_.shift(level::l1)), g_.size(level::l1));
  stage2_slot& s = stage2_walks_[walk_slot(at.value())];
  if (s.key == walk_key(at.value(), stage2_context(v))) s = {};
}

void tlb::invalidate_range(engine::vmid v, engine::ipa at, engine::bytes n) {
  const std::uint64_t ctx = stage2_context(v);
  std::uint64_t first = at.value();
  std::uint64_t end = first + n.value();
  if (has_large_blocks_) {
    const std::uint64_t mask = g_.size(level::l1).value() - 1;
    first &= ~mask;
    end = (end + mask) & ~mask;
  }
  for (stage2_slot& s : stage2_walks_) {
    const std::uint64_t address = s.key >> (context_bits + 2) << walk_shift_;
    const std::uint64_t span = std::uint64_t{1} << walk_shift_;
    if (s.key == walk_key(address, ctx) && address < end && address + span > first) s = {};
  }
}

void tlb::begin_run(std::uint64_t t, tlb_entry e) {
  settle();
  classes_ |= 1U << to_int(e.size());
  run_ = {e.next(g_), e, t, 1};
}

void tlb::write_run() {
  std::uint64_t t = run_.first_tag;
  tlb_entry e = run_.first;
  for (std::uint32_t i = 0; i < run_.count; ++i) {
    put(t, e);
    t += tag_step;
    e = e.next(g_);
  }
  run_ = {};
  written_ = true;
}

void tlb::start_anew() {
  highest_tag_ = 0;
  next_tag_ = 0;
  classes_ = 0;
  run_ = {};
  if (written_) std::fill_n(victims_.get(), std::size_t{set_mask_} + 1, 0);
  written_ = false;
}

void tlb::drop(std::uint64_t t) {
  const std::size_t set = l2_set(t);
  if (const unsigned way = find_way(set, t); way != nobody) tags_of(set)[way] = 0;
}

void tlb::invalidate_va(engine::gva va, engine::asid a, engine::vmid v) {
  const std::uint64_t ctx = context(a, v);
  settle();
  for (unsigned classes = classes_; classes != 0; classes &= classes - 1)
    drop(tag(va, class_level(classes), ctx));
  stage1_slot& s = stage1_walks_[walk_slot(va.value())];
  if (s.key == walk_key(va.value(), ctx)) s = {};
}

void tlb::invalidate_all() {
  contexts_.clear();
  start_anew();
  stage2_contexts_.clear();
  current_.number = 0;
  stage2_current_.number = 0;
}

std::size_t tlb::memory_bytes() const {
  return (std::size_t{set_mask_} + 1) * (set_bytes_ + 1) +
         geometry_.l2_entries * sizeof(tlb_entry) + sizeof(stage1_slot) * stage1_walks_.capacity() +
         sizeof(stage2_slot) * stage2_walks_.capacity();
}

}  // namespace hvsim::mmu
