// SPDX-License-Identifier: Apache-2.0
// The TLBs of one vCPU's core: two levels of combined translations and a walk cache.
//
// Invalidation follows the Arm ARM: IPAS2E1 reaches stage-2-only entries and not the combined
// ones, which is why KVM adds VMALLE1. Replacement is first in, first out, so runs repeat exactly;
// a TLB whose last context is dropped is as good as new.
// The second level holds everything that the first one holds: L1 is the set of the entries that
// came in last.
// Not thread-safe: one fiber at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "mmu/tlb_entry.hpp"

namespace hvsim::mmu {

/// Sizes of the TLBs. Defaults: Neoverse N1 (technical reference manual).
struct tlb_geometry {
  std::uint16_t l1_entries = 48;  ///< fully associative, at least 1
  std::uint16_t l2_entries = 1280;
  std::uint16_t l2_ways = 5;        ///< l2_entries / l2_ways must be a power of two
  std::uint16_t walk_entries = 64;  ///< of each walk cache, direct-mapped; a power of two
};

/// Where a lookup found its entry.
enum class tlb_level : std::uint8_t { miss, l1, l2 };

struct tlb_counts {
  std::uint64_t misses = 0;
  std::uint64_t walk_hits = 0;  ///< walk cache, both kinds
  std::uint64_t walk_misses = 0;
  std::uint64_t l1_hits = 0;
  std::uint64_t l2_hits = 0;
};

/// What the walk cache knows about an intermediate address: a level 3 table, or a block.
struct stage2_cached {
  table_page* table = nullptr;  ///< level 3 table, or the table that holds the block entry
  descriptor block{};           ///< the block leaf; zero when `table` is a level 3 table
  level lvl = level::l3;        ///< level of the block
  std::uint32_t index = 0;      ///< of the block's entry in `table`
};

/// Two-level TLB and walk caches, tagged by VMID and ASID.
///
/// Every entry is treated as non-global (nG set). Addresses are those of TTBR0_EL1: up to 48 bits.
class tlb {
 public:
  /// Throws std::invalid_argument for a geometry that breaks the limits above.
  explicit tlb(const tlb_geometry& geometry = {}, granule g = granule_4k);

  struct hit {
    tlb_level where = tlb_level::miss;
    tlb_entry entry{};
  };
  /// Stands for the translations of one address space until they are invalidated. What is inserted
  /// with a regime taken before an invalidation is never found: a walk that began earlier leaves
  /// nothing behind.
  struct regime {
    std::uint64_t combined;  ///< stage 1 and both stages together: VMID and ASID
    std::uint64_t stage2;    ///< stage 2 alone: VMID
  };
  regime enter(engine::asid a, engine::vmid v) {
    const std::uint64_t first = context(a, v);
    return {first, stage2_context(v)};
  }

  /// The entry for `va`, whatever its permissions (see tlb_entry::permits). An L2 hit moves into
  /// L1.
  hit lookup(engine::gva va, engine::asid a, engine::vmid v) {
    const std::uint64_t ctx = context(a, v);
    for (unsigned classes = classes_; classes != 0; classes &= classes - 1) {
      const std::uint64_t t = tag(va, class_level(classes), ctx);
      // Tags of one context are ordered by page: beyond the highest one nothing can match.
      if (classes_ == pages_only && t > highest_tag_) break;
      settle();
      const std::size_t set = l2_set(t);
      const unsigned way = find_way(set, t);
      if (way == nobody) continue;
      std::uint32_t& stamp = stamps_of(set)[way];
      const tlb_entry& e = data_[set * ways_ + way];
      if (last_stamp_ - stamp < geometry_.l1_entries) [[likely]] {
        ++counts_.l1_hits;
        return {tlb_level::l1, e};
      }
      ++counts_.l2_hits;
      stamp = ++last_stamp_;
      return {tlb_level::l2, e};
    }
    ++counts_.misses;
    return {};
  }
  /// Adds a translation of `va`; `e` must cover it. Replaces an entry of the same tag.
  void insert(engine::gva va, const regime& r, tlb_entry e) {
    const std::uint64_t t = tag(va, e.size(), r.combined);
    settle();
    drop(t);
    add(t, e);
  }
  /// Whether a page-sized lookup of `va` is bound to miss because every entry of this context is
  /// for a lower page.
  [[nodiscard]] bool misses_surely(engine::gva va, const regime& r) const {
    return (classes_ & ~pages_only) == 0 && tag(va, level::l3, r.combined) > highest_tag_;
  }
  /// Counts misses of a caller that need not ask.
  void count_misses(std::uint64_t n) { counts_.misses += n; }
  /// Counts hits of the walk cache that a caller remembered instead of asking again.
  void count_walk_hits(std::uint64_t n) { counts_.walk_hits += n; }
  /// The same after lookup() has just missed: nothing of this tag can be there.
  void insert_after_miss(engine::gva va, const regime& r, tlb_entry e) {
    add(tag(va, e.size(), r.combined), e);
  }

  /// Walk cache, stage 1: the level 3 table for `va`, or null. Valid until the next insert.
  const engine::ipa* find_stage1_table(engine::gva va, const regime& r) {
    const stage1_slot& s = stage1_walks_[walk_slot(va.value())];
    if (s.key == walk_key(va.value(), r.combined)) [[likely]] {
      ++counts_.walk_hits;
      return &s.table;
    }
    ++counts_.walk_misses;
    return nullptr;
  }
  void insert_stage1_table(engine::gva va, const regime& r, engine::ipa table) {
    stage1_walks_[walk_slot(va.value())] = {walk_key(va.value(), r.combined), table};
  }
  /// Walk cache, stage 2: what is known about `at`, or null. Valid until the next insert.
  const stage2_cached* find_stage2(engine::ipa at, const regime& r) {
    const stage2_slot& s = stage2_walks_[walk_slot(at.value())];
    if (s.key == walk_key(at.value(), r.stage2)) [[likely]] {
      ++counts_.walk_hits;
      return &s.cached;
    }
    ++counts_.walk_misses;
    return nullptr;
  }
  void insert_stage2(engine::ipa at, const regime& r, const stage2_cached& c) {
    if (c.block.counted() && c.lvl != level::l2) has_large_blocks_ = true;
    stage2_walks_[walk_slot(at.value())] = {walk_key(at.value(), r.stage2), c};
  }

  /// TLBI IPAS2E1: stage-2-only entries for `at`.
  void invalidate_ipa(engine::vmid v, engine::ipa at);
  /// TLBI RIPAS2E1: stage-2-only entries in [at, at + n).
  void invalidate_range(engine::vmid v, engine::ipa at, engine::bytes n);
  /// TLBI VMALLE1: all stage-1 and combined entries of the VMID. O(1) for a VM with one ASID.
  void invalidate_stage1(engine::vmid v);
  /// TLBI VMALLS12E1: everything of the VMID.
  void invalidate_vmid(engine::vmid v);
  /// TLBI VAE1: the entries for one page of one ASID.
  void invalidate_va(engine::gva va, engine::asid a, engine::vmid v);
  /// TLBI ALLE1: everything.
  void invalidate_all();

  [[nodiscard]] const tlb_counts& counts() const { return counts_; }
  [[nodiscard]] const tlb_geometry& geometry() const { return geometry_; }
  /// Bytes of host memory in use.
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  // A tag is {VA in units of the entry's size: 36 bits, level: 2, context: 26}.
  // A context number stands for one (VMID, ASID) between two invalidations; numbers are never used
  // twice until they run out, so giving out a new one drops all old entries at once.
  static constexpr unsigned context_bits = 26;
  static constexpr std::uint64_t max_context = (std::uint64_t{1} << context_bits) - 1;
  static constexpr unsigned nobody = ~0U;
  static constexpr std::uint64_t tag_step = std::uint64_t{1} << (context_bits + 2);
  static constexpr unsigned pages_only = 1U << 3;  // classes_ with entries of level 3 alone
  struct context_record {
    std::uint32_t key;  // VMID << 16 | ASID
    std::uint64_t number;
  };
  struct stage1_slot {
    std::uint64_t key = 0;
    engine::ipa table{};
  };
  struct stage2_slot {
    std::uint64_t key = 0;
    stage2_cached cached{};
  };

  static level class_level(unsigned classes) { return static_cast<level>(__builtin_ctz(classes)); }
  std::uint64_t tag(engine::gva va, level l, std::uint64_t ctx) const {
    return va.value() >> shifts_[to_int(l)] << (context_bits + 2) |
           static_cast<std::uint64_t>(to_int(l)) << context_bits | ctx;
  }
  /// Page number in a tag, in units of the entry's size.
  static std::uint64_t page_number(std::uint64_t t) { return t >> (context_bits + 2); }
  std::size_t l2_set(std::uint64_t t) const { return page_number(t) & set_mask_; }
  std::uint64_t walk_slot(std::uint64_t address) const {
    return address >> walk_shift_ & walk_mask_;
  }
  std::uint64_t walk_key(std::uint64_t address, std::uint64_t ctx) const {
    return address >> walk_shift_ << (context_bits + 2) | ctx;
  }
  std::uint64_t context(engine::asid a, engine::vmid v) {
    const std::uint32_t key = std::uint32_t{v.value()} << 16 | a.value();
    if (key == current_.key && current_.number != 0) [[likely]]
      return current_.number;
    return find_context(key);
  }
  std::uint64_t stage2_context(engine::vmid v) {
    if (v.value() == stage2_current_.key && stage2_current_.number != 0) [[likely]]
      return stage2_current_.number;
    return find_stage2_context(v.value());
  }
  // One set in memory: the tags of its ways, then when each came into L1. The victims lie apart, so
  // that adding an entry writes to a set and never waits for it.
  std::uint64_t* tags_of(std::size_t set) const {
    return reinterpret_cast<std::uint64_t*>(sets_.get() + set * set_bytes_);
  }
  std::uint32_t* stamps_of(std::size_t set) const {
    return reinterpret_cast<std::uint32_t*>(sets_.get() + set * set_bytes_ +
                                            ways_ * sizeof(std::uint64_t));
  }
  // Entries wait in `run_` as long as each follows the one before, until somebody looks: a guest
  // that streams through memory, and whose TLB is flushed again and again, writes to no set at all.
  [[gnu::always_inline]] void add(std::uint64_t t, tlb_entry e) {
    const bool follows = t == next_tag_;
    streak_ = follows ? streak_ + 1 : 1;
    next_tag_ = t + tag_step;
    // As many entries side by side as L2 holds have pushed out everything else.
    if (t > highest_tag_ || streak_ >= geometry_.l2_entries) highest_tag_ = t;
    if (follows && e == run_.next && run_.count != 0) [[likely]] {
      ++run_.count;
      run_.next = e.next(g_);
      return;
    }
    begin_run(t, e);
  }
  void settle() {
    if (run_.count != 0) write_run();
  }
  void begin_run(std::uint64_t t, tlb_entry e);
  void write_run();
  void put(std::uint64_t t, tlb_entry e) {
    const std::size_t set = l2_set(t);
    const unsigned way = victims_[set];
    victims_[set] = static_cast<std::uint8_t>(way + 1U == ways_ ? 0 : way + 1U);
    tags_of(set)[way] = t;
    stamps_of(set)[way] = ++last_stamp_;
    data_[set * ways_ + way] = e;
  }
  /// Way of `t` in its set, or nobody.
  unsigned find_way(std::size_t set, std::uint64_t t) const {
    const std::uint64_t* const tags = tags_of(set);
    if (ways_ == 5) [[likely]] {  // written out: this is the miss path of every access
      if (tags[0] == t) return 0;
      if (tags[1] == t) return 1;
      if (tags[2] == t) return 2;
      if (tags[3] == t) return 3;
      if (tags[4] == t) return 4;
      return nobody;
    }
    for (unsigned way = 0; way < ways_; ++way)
      if (tags[way] == t) return way;
    return nobody;
  }
  void start_anew();
  void drop(std::uint64_t t);
  std::uint64_t find_context(std::uint32_t key);
  std::uint64_t find_stage2_context(std::uint32_t key);
  std::uint64_t new_context();
  void clear();

  struct release {
    void operator()(std::byte* p) const { ::operator delete (p, std::align_val_t{64}); }
  };
  struct run {
    tlb_entry next{};  // what would follow
    tlb_entry first{};
    std::uint64_t first_tag = 0;
    std::uint32_t count = 0;
  };
  // What a miss and an insert touch lies together.
  run run_;
  std::unique_ptr<std::byte, release> sets_;
  std::unique_ptr<tlb_entry[]> data_;        // way by way of each set
  std::unique_ptr<std::uint8_t[]> victims_;  // of each set
  std::uint64_t highest_tag_ = 0;            // of what may be found
  std::uint64_t next_tag_ = 0;               // follows the last entry
  std::uint32_t streak_ = 0;  // entries up to the last one, each next to the one before
  std::uint32_t set_mask_;
  std::uint32_t set_bytes_;
  std::uint32_t ways_;
  std::uint32_t last_stamp_ = 0;  // counts what came into L1
  unsigned classes_ = 0;          // bit per level of which entries may exist
  std::uint8_t shifts_[4];        // by level
  tlb_counts counts_;
  context_record current_{0, 0};
  context_record stage2_current_{0, 0};
  tlb_geometry geometry_;
  granule g_;
  unsigned walk_shift_;  // what one level 3 table spans
  std::uint64_t walk_mask_;
  std::uint64_t last_context_ = 0;
  bool has_large_blocks_ = false;
  bool written_ = false;  // some set, since the TLB was new
  std::vector<stage1_slot> stage1_walks_;
  std::vector<stage2_slot> stage2_walks_;
  std::vector<context_record> contexts_;
  std::vector<context_record> stage2_contexts_;
};

}  // namespace hvsim::mmu
