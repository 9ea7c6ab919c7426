// SPDX-License-Identifier: Apache-2.0
// One guest access through the TLBs, the walk caches and both stages of translation.
#pragma once

#include "mmu/tlb.hpp"

namespace hvsim::mmu {

/// Outcome of a translation, with everything that an abort's syndrome needs.
struct translation {
  fault_status status = fault_status::none;
  walk_stage stage = walk_stage::stage1;  ///< stage2: an abort to EL2
  bool s1ptw = false;                     ///< stage-2 fault of a stage-1 table access
  level lvl = level::l3;                  ///< level of the fault
  tlb_level found = tlb_level::miss;      ///< miss: the walker ran
  tlb_entry entry{};                      ///< the translation, when there is one
  engine::ipa ipa{};  ///< after a walk that reached stage 2: the faulting or translated address
  [[nodiscard]] bool ok() const { return status == fault_status::none; }
};

namespace detail {

/// Stage-2 translation of one address through the walk cache.
template <stage2_reader R>
stage2_walk_result translate_stage2(R& reader, const stage2& s2, tlb& cache, engine::ipa at,
                                    engine::vmid v, access_kind k, const walk_options& options) {
  if (const stage2_cached* c = cache.find_stage2(at, v)) {
    if (!c->block.counted())
      return walk_stage2_from(reader, s2, {c->table, level::l3}, at, k, options);
    const entry_ref e{c->table, c->index, c->lvl, at};
    return {stage2_permits(c->block, k) ? fault_status::none : fault_status::permission, c->lvl, e,
            c->block};
  }
  const stage2_walk_result r = walk_stage2(reader, s2, at, k, options);
  // Table entries may be cached even if the walk faults below them; a faulting leaf may not.
  if (r.lvl == level::l3 && r.entry.table != nullptr)
    cache.insert_stage2(at, v, {r.entry.table, {}, level::l3, 0});
  else if (r.ok() || r.status == fault_status::permission)
    cache.insert_stage2(at, v, {r.entry.table, r.leaf, r.lvl, r.entry.index});
  return r;
}

/// The miss path of translate().
template <stage1_reader R>
translation translate_miss(R& reader, const stage2& s2, const stage1& s1, tlb& cache,
                           engine::gva va, engine::asid a, engine::vmid v, access_kind k,
                           const walk_options& options) {
  translation out;
  const auto read_table = [&](engine::ipa where) {
    return translate_stage2(reader, s2, cache, where, v, access_kind::read, options);
  };
  stage1_walk_result first;
  if (const engine::ipa* l3 = cache.find_stage1_table(va, a, v)) {
    // The cached pointer is combined: its stage-2 translation was checked when it was filled.
    const auto checked = [](engine::ipa) { return stage2_walk_result{}; };
    first = walk_stage1_from(reader, s1, *l3, level::l3, va, k, checked);
  } else if (va.value() >> s1.va_bits != 0) {
    out.status = fault_status::translation;
    out.lvl = level::l0;
    return out;
  } else {
    first = walk_stage1_from(reader, s1, s1.table, s1.start(), va, k, read_table);
    if (first.has_l3_table) cache.insert_stage1_table(va, a, v, first.l3_table);
  }
  out.ipa = first.ipa;
  if (!first.ok()) {
    out.status = first.status;
    out.stage = first.stage;
    out.s1ptw = first.s1ptw();
    out.lvl = first.lvl;
    return out;
  }
  const stage2_walk_result second = translate_stage2(reader, s2, cache, first.ipa, v, k, options);
  if (!second.ok()) {
    out.status = second.status;
    out.stage = walk_stage::stage2;
    out.lvl = second.lvl;
    return out;
  }
  // The smaller leaf decides how much one entry may cover. Both stages use one granule here;
  // with different ones the entry covers a page of the TLB's granule.
  const granule g = s2.geometry.g;
  const level size = s1.g == g ? (first.lvl > second.lvl ? first.lvl : second.lvl) : level::l3;
  const engine::pa base =
      stage2_output(g, second.leaf, second.lvl, first.ipa).align_down(g.shift(size));
  out.entry = tlb_entry::make(base, size, first.leaf, second.leaf, second.lvl);
  cache.insert(va, a, v, out.entry);
  return out;
}

}  // namespace detail

/// Translates one access. A TLB entry that does not permit the access faults from the TLB, without
/// a walk: after a flush that did not reach this core, that is what hardware does.
template <stage1_reader R>
translation translate(R& reader, const stage2& s2, const stage1& s1, tlb& cache, engine::gva va,
                      engine::asid a, engine::vmid v, access_kind k,
                      const walk_options& options = {}) {
  const tlb::hit h = cache.lookup(va, a, v);
  if (h.where == tlb_level::miss)
    return detail::translate_miss(reader, s2, s1, cache, va, a, v, k, options);
  translation out;
  out.found = h.where;
  out.entry = h.entry;
  if (!h.entry.permits(k)) {
    out.status = fault_status::permission;
    const bool first = !h.entry.permits_stage1(k);
    out.stage = first ? walk_stage::stage1 : walk_stage::stage2;
    out.lvl = first ? h.entry.size() : h.entry.s2_level();
  }
  return out;
}

}  // namespace hvsim::mmu
