// SPDX-License-Identifier: Apache-2.0
// A stage-2 tree and the switches that say which kernel's algorithms work on it.
#pragma once

#include <cstdint>
#include <string>

#include "mmu/stage2_port.hpp"

namespace hvsim::mmu {

/// Result of an operation, as the kernel's 0, -EAGAIN and -ENOMEM.
enum class stage2_result : std::uint8_t { ok, again, nomem };

/// How entries are replaced.
enum class walker_flavour : std::uint8_t {
  exclusive,  ///< up to Linux 6.1: clear, flush, write; the caller holds the lock for write
  rfc,        ///< parallel series as posted in April 2022
  merged,     ///< parallel series as merged in Linux 6.2
};

/// How a table is replaced by a block.
enum class collapse_flavour : std::uint8_t {
  pre_post,          ///< 6.1: clear, flush the VMID, drop the subtree, then install the block
  lock_descendants,  ///< RFC: also lock every entry below before installing
  detach,            ///< 6.2: break, install the block, free the subtree afterwards
};

/// Whether a child table is allocated before the entry above it is broken.
enum class split_order : std::uint8_t { alloc_first, break_first };
/// Scope of the TLBI that follows a relaxed permission. local since Linux 6.5.
enum class relax_tlbi : std::uint8_t { broadcast, local };
/// When the tables of a collapsed subtree are freed.
enum class table_free : std::uint8_t { immediate, rcu_per_page, rcu_per_subtree };

/// Switches of one kernel version. Defaults are Linux 6.1; see the functions below.
struct stage2_policy {
  walker_flavour walker = walker_flavour::exclusive;
  collapse_flavour collapse = collapse_flavour::pre_post;
  split_order split = split_order::alloc_first;
  relax_tlbi relax = relax_tlbi::broadcast;
  table_free free = table_free::immediate;
  bool relax_eagain_on_invalid = false;  ///< 6.3+: an attribute update of an empty entry fails
  bool relax_tlbi_on_eagain = false;     ///< 6.12: flush without a level also when it failed
  bool fwb = false;               ///< FEAT_S2FWB: no data-cache maintenance, MemAttr encoding
  bool dic = false;               ///< CTR_EL0.DIC: instruction-cache maintenance is one ISB
  bool tlb_range = false;         ///< FEAT_TLBIRANGE used (6.6+): range instead of VMID flush;
                                  ///< with fwb, unmap flushes pages once by range
  bool free_without_rcu = false;  ///< planted bug: free a detached subtree at once
};

constexpr stage2_policy linux_6_1_policy() {
  return {};
}
constexpr stage2_policy parallel_rfc_policy() {
  stage2_policy p;
  p.walker = walker_flavour::rfc;
  p.collapse = collapse_flavour::lock_descendants;
  p.split = split_order::break_first;
  p.free = table_free::rcu_per_page;
  return p;
}
constexpr stage2_policy linux_6_2_policy() {
  stage2_policy p;
  p.walker = walker_flavour::merged;
  p.collapse = collapse_flavour::detach;
  p.free = table_free::rcu_per_subtree;
  return p;
}
constexpr stage2_policy linux_6_12_policy() {
  stage2_policy p = linux_6_2_policy();
  p.relax = relax_tlbi::local;
  p.relax_eagain_on_invalid = true;
  p.relax_tlbi_on_eagain = true;
  return p;
}

/// One VM's stage-2 translation: what VTTBR_EL2 and VTCR_EL2 say, and the policy of its kernel.
struct stage2 {
  table_memory* memory = nullptr;
  stage2_geometry geometry{};
  table_page* start = nullptr;  ///< first of geometry.start_tables pages side by side
  stage2_policy policy{};

  /// The start table that translates `a`.
  [[nodiscard]] table_page* start_table(engine::ipa a) const {
    return start + geometry.start_index(a);
  }
  [[nodiscard]] table_page* follow(descriptor table) const {
    return memory->at(table.table_address(geometry.g));
  }
  /// The entry for `a` in `t`, a table of level `l`.
  [[nodiscard]] entry_ref entry(table_page* t, level l, engine::ipa a) const {
    const unsigned i = geometry.g.index(a.value(), l);
    return {t, i, l, a, t->entries + i};
  }
  /// The entry of level `l` for `a` in the table that a table descriptor points to.
  [[nodiscard]] entry_ref entry_below(descriptor table, level l, engine::ipa a) const {
    const engine::pa at = table.table_address(geometry.g);
    const unsigned i = geometry.g.index(a.value(), l);
    return {memory->at(at), i, l, a, memory->entries_at(at) + i};
  }
  /// The first entry of a walk for `a`.
  [[nodiscard]] entry_ref start_entry(engine::ipa a) const {
    return entry(start_table(a), geometry.start, a);
  }
};

/// The level 3 table for `at`, or null; reads memory without a port.
inline table_page* peek_l3_table(const stage2& s2, engine::ipa at) {
  entry_ref e = s2.start_entry(at);
  while (e.lvl != level::l3) {
    if (!e.in_memory().is_table(e.lvl)) return nullptr;
    e = s2.entry_below(e.in_memory(), next(e.lvl), at);
  }
  return e.table;
}

/// An empty tree. Throws std::bad_alloc when `memory` is full.
stage2 make_stage2(table_memory& memory, unsigned ipa_bits, const stage2_policy& policy);

/// Recomputes every reference count below `s2` and checks the structure: levels, states, alignment,
/// no entry left locked. Returns the first problem found, or an empty string. Reads memory without
/// a port: call it while no operation is in flight. Detached tables are not visited.
std::string verify(const stage2& s2);

/// Number of table pages that hang in the tree, start tables included.
std::size_t count_tables(const stage2& s2);

}  // namespace hvsim::mmu
