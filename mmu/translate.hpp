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

/// Stage-2 walk from the start tables that fills the walk cache.
template <stage2_reader R>
[[gnu::noinline]] stage2_walk_result fill_stage2(R& reader, const stage2& s2, tlb& cache,
                                                 const tlb::regime& regime, engine::ipa at,
                                                 access_kind k, const walk_options& options) {
  const stage2_walk_result r = walk_stage2(reader, s2, at, k, options);
  // Table entries may be cached even if the walk faults below them; a faulting leaf may not.
  if (r.lvl() == level::l3)
    cache.insert_stage2(at, regime, {r.entry.table, {}, level::l3, 0});
  else if (r.ok() || r.status == fault_status::permission)
    cache.insert_stage2(at, regime, {r.entry.table, r.leaf, r.lvl(), r.entry.index});
  return r;
}

/// Stage-2 translation of one address through the walk cache.
template <stage2_reader R>
[[gnu::always_inline]] inline stage2_walk_result translate_stage2(R& reader, const stage2& s2,
                                                                  tlb& cache,
                                                                  const tlb::regime& regime,
                                                                  engine::ipa at, access_kind k,
                                                                  const walk_options& options) {
  const stage2_cached* c = cache.find_stage2(at, regime);
  if (c == nullptr) return fill_stage2(reader, s2, cache, regime, at, k, options);
  if (!c->block.counted())
    return walk_stage2_from(reader, s2, s2.entry(c->table, level::l3, at), k, options);
  const entry_ref e{c->table, c->index, c->lvl, at, c->table->entries + c->index};
  return {stage2_permits(c->block, k) ? fault_status::none : fault_status::permission, e, c->block};
}

/// Stage-1 walk from the start table that fills the walk caches.
template <stage1_reader R>
[[gnu::noinline]] stage1_walk_result fill_stage1(R& reader, const stage2& s2, const stage1& s1,
                                                 tlb& cache, const tlb::regime& regime,
                                                 engine::gva va, access_kind k,
                                                 const walk_options& options) {
  if (va.value() >> s1.va_bits != 0) return stage1_out_of_range();
  const stage1_walk_result r =
      walk_stage1_from(reader, s1, s1.table, s1.start(), va, k, [&](engine::ipa where) {
        return translate_stage2(reader, s2, cache, regime, where, access_kind::read, options);
      });
  if (r.has_l3_table) cache.insert_stage1_table(va, regime, r.l3_table);
  return r;
}

/// The miss path when both walk caches know the way, 4 KiB pages in both stages: one descriptor of
/// each stage decides. Returns false, when a cache does not
/// know or the rarer checks are needed; the caller then walks in full.
/// Same outcome and same reads as translate_miss, for a fraction of its instructions.
template <stage1_reader R>
[[gnu::always_inline]] inline bool translate_known(R& reader, const stage2& s2, const stage1& s1,
                                                   tlb& cache, engine::gva va,
                                                   const tlb::regime& regime, access_kind k,
                                                   translation& out) {
  constexpr granule g = granule_4k;
  if (s1.g.page_shift != g.page_shift || s2.geometry.g.page_shift != g.page_shift) return false;
  const engine::ipa* table = cache.find_stage1_table(va, regime);
  if (table == nullptr) return false;
  const unsigned index = g.index(va.value(), level::l3);
  const engine::ipa where = *table + engine::bytes{std::uint64_t{index} * sizeof(descriptor)};
  const descriptor first = reader.load_stage1(where, level::l3);
  if (!first.is_leaf(level::l3) || !first.accessed() ||
      (k == access_kind::write && !first.s1_writable()) ||
      (k == access_kind::execute && !first.s1_executable())) [[unlikely]]
    return false;
  const std::uint64_t page = std::uint64_t{1} << g.page_shift;
  const engine::ipa at{(first.raw() & bits::address) | (va.value() & (page - 1))};
  const stage2_cached* known = cache.find_stage2(at, regime);
  if (known == nullptr) return false;
  out.ipa = at;
  descriptor leaf = known->block;
  level lvl = known->lvl;
  if (!leaf.counted()) {
    const entry_ref e = s2.entry(known->table, level::l3, at);
    leaf = reader.load(e);
    reader.visit(level::l3);
    lvl = level::l3;
    if (!leaf.is_leaf(level::l3)) {
      out.status = fault_status::translation;
      out.stage = walk_stage::stage2;
      out.lvl = lvl;
      return true;
    }
    if (!leaf.accessed()) [[unlikely]]
      return false;
  }
  if (!stage2_permits(leaf, k)) [[unlikely]] {
    out.status = fault_status::permission;
    out.stage = walk_stage::stage2;
    out.lvl = lvl;
    return true;
  }
  const engine::pa base = stage2_output(g, leaf, lvl, at).align_down(g.page_shift);
  out.entry = tlb_entry::make(base, level::l3, first, leaf, lvl);
  cache.insert_after_miss(va, regime, out.entry);
  return true;
}

/// The miss path of translate().
template <stage1_reader R>
translation translate_miss(R& reader, const stage2& s2, const stage1& s1, tlb& cache,
                           engine::gva va, const tlb::regime& regime, access_kind k,
                           const walk_options& options) {
  // A cached pointer is combined: its own stage-2 translation was checked when it was filled.
  const auto checked = [](engine::ipa) { return stage2_walk_result{}; };
  const engine::ipa* l3 = cache.find_stage1_table(va, regime);
  const stage1_walk_result first =
      l3 != nullptr ? walk_stage1_from(reader, s1, *l3, level::l3, va, k, checked)
                    : fill_stage1(reader, s2, s1, cache, regime, va, k, options);
  translation out;
  out.ipa = first.ipa;
  if (!first.ok()) [[unlikely]] {
    out.status = first.status;
    out.stage = first.stage;
    out.s1ptw = first.s1ptw();
    out.lvl = first.lvl;
    return out;
  }
  const stage2_walk_result second =
      translate_stage2(reader, s2, cache, regime, first.ipa, k, options);
  if (!second.ok()) [[unlikely]] {
    out.status = second.status;
    out.stage = walk_stage::stage2;
    out.lvl = second.lvl();
    return out;
  }
  // The smaller leaf decides how much one entry covers. If the stages' granules differ, it is a
  // page of the stage-2 granule, which must not be the larger one.
  const granule& g = s2.geometry.g;
  const level size = s1.g.page_shift != g.page_shift ? level::l3
                     : first.lvl > second.lvl()      ? first.lvl
                                                     : second.lvl();
  const engine::pa base =
      stage2_output(g, second.leaf, second.lvl(), first.ipa).align_down(g.shift(size));
  out.entry = tlb_entry::make(base, size, first.leaf, second.leaf, second.lvl());
  cache.insert_after_miss(va, regime, out.entry);
  return out;
}

}  // namespace detail

/// Turns a TLB lookup into `out`, whatever it held before; false if the lookup missed. An entry
/// that does not permit the access faults from the TLB, without a walk: after a flush that did not
/// reach this core, that is what hardware does.
[[nodiscard]] inline bool use_hit(const tlb::hit& h, access_kind k, translation& out) {
  out.found = h.where;
  out.s1ptw = false;
  out.status = fault_status::none;
  if (h.where == tlb_level::miss) return false;
  out.entry = h.entry;
  if (h.entry.permits(k)) return true;
  out.status = fault_status::permission;
  const bool first = !h.entry.permits_stage1(k);
  out.stage = first ? walk_stage::stage1 : walk_stage::stage2;
  out.lvl = first ? h.entry.size() : h.entry.s2_level();
  return true;
}

/// The rest of a translation after use_hit has said false.
template <stage1_reader R>
[[gnu::always_inline]] inline void translate_after_miss(
    R& reader, const stage2& s2, const stage1& s1, tlb& cache, engine::gva va, engine::asid a,
    engine::vmid v, access_kind k, translation& out, const walk_options& options) {
  const tlb::regime regime = cache.enter(a, v);
  if (!detail::translate_known(reader, s2, s1, cache, va, regime, k, out)) [[unlikely]]
    out = detail::translate_miss(reader, s2, s1, cache, va, regime, k, options);
}

/// Translates one access.
template <stage1_reader R>
[[nodiscard]] translation translate(R& reader, const stage2& s2, const stage1& s1, tlb& cache,
                                    engine::gva va, engine::asid a, engine::vmid v, access_kind k,
                                    const walk_options& options = {}) {
  translation out;
  if (!use_hit(cache.lookup(va, a, v), k, out))
    translate_after_miss(reader, s2, s1, cache, va, a, v, k, out, options);
  return out;
}

}  // namespace hvsim::mmu
