// SPDX-License-Identifier: Apache-2.0
#include "mmu/tlb.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace hvsim::mmu {

tlb::tlb(const tlb_geometry& geometry, granule g) : geometry_(geometry), g_(g) {
  if (geometry.l1_entries == 0 || geometry.l1_entries >= nobody)
    throw std::invalid_argument("tlb: l1_entries must be 1 to 254");
  if (geometry.l2_ways == 0 || geometry.l2_ways > 255 ||
      geometry.l2_entries % geometry.l2_ways != 0 ||
      !std::has_single_bit(unsigned{geometry.l2_entries} / geometry.l2_ways))
    throw std::invalid_argument("tlb: l2_entries / l2_ways must be a power of two");
  if (!std::has_single_bit(unsigned{geometry.walk_entries}))
    throw std::invalid_argument("tlb: walk_entries must be a power of two");
  for (int l = 0; l < 4; ++l) shifts_[l] = g.shift(static_cast<level>(l));
  walk_shift_ = g.shift(level::l2);
  const std::size_t buckets = 2 * std::bit_ceil(unsigned{geometry.l1_entries});
  const std::size_t sets = geometry.l2_entries / geometry.l2_ways;
  bucket_mask_ = buckets - 1;
  set_mask_ = sets - 1;
  walk_mask_ = geometry.walk_entries - 1U;
  l1_heads_.resize(buckets);
  l1_next_.resize(geometry.l1_entries);
  l1_tags_.resize(geometry.l1_entries);
  l1_data_.resize(geometry.l1_entries);
  l2_.resize(geometry.l2_entries);
  l2_victims_.resize(sets);
  stage1_walks_.resize(geometry.walk_entries);
  stage2_walks_.resize(geometry.walk_entries);
  clear();
}

void tlb::clear() {
  std::fill(l1_heads_.begin(), l1_heads_.end(), static_cast<std::uint8_t>(nobody));
  std::fill(l1_next_.begin(), l1_next_.end(), static_cast<std::uint8_t>(nobody));
  std::fill(l1_tags_.begin(), l1_tags_.end(), 0);
  std::fill(l2_.begin(), l2_.end(), l2_way{});
  std::fill(l2_victims_.begin(), l2_victims_.end(), 0);
  std::fill(stage1_walks_.begin(), stage1_walks_.end(), stage1_slot{});
  std::fill(stage2_walks_.begin(), stage2_walks_.end(), stage2_slot{});
  contexts_.clear();
  stage2_contexts_.clear();
  current_ = {0, 0};
  stage2_current_ = {0, 0};
  last_context_ = 0;
  l1_victim_ = 0;
  highest_tag_ = 0;
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
  if (contexts_.empty()) highest_tag_ = 0;
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

void tlb::drop(std::uint64_t t) {
  for (unsigned i = l1_heads_[bucket(t)]; i != nobody; i = l1_next_[i]) {
    if (l1_tags_[i] == t) {
      unlink_l1(i);
      break;
    }
  }
  if (const std::size_t i = find_l2(t); i != not_found) l2_[i].tag = 0;
}

void tlb::invalidate_va(engine::gva va, engine::asid a, engine::vmid v) {
  const std::uint64_t ctx = context(a, v);
  for (unsigned classes = classes_; classes != 0; classes &= classes - 1)
    drop(tag(va, class_level(classes), ctx));
  stage1_slot& s = stage1_walks_[walk_slot(va.value())];
  if (s.key == walk_key(va.value(), ctx)) s = {};
}

void tlb::invalidate_all() {
  contexts_.clear();
  highest_tag_ = 0;
  stage2_contexts_.clear();
  current_.number = 0;
  stage2_current_.number = 0;
}

std::size_t tlb::memory_bytes() const {
  return l1_heads_.capacity() + l1_next_.capacity() + l2_victims_.capacity() +
         8 * (l1_tags_.capacity() + l1_data_.capacity()) + l2_.capacity() * sizeof(l2_way) +
         sizeof(stage1_slot) * stage1_walks_.capacity() +
         sizeof(stage2_slot) * stage2_walks_.capacity();
}

}  // namespace hvsim::mmu
