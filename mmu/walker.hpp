// SPDX-License-Identifier: Apache-2.0
// Hardware translation table walks: stage 2 alone, and stage 1 nested in stage 2.
//
// Order of checks and fault levels: Arm ARM, AArch64 translation regime pseudocode. A reader
// supplies memory and costs; walks never allocate.
#pragma once

#include <concepts>
#include <cstdint>

#include "mmu/stage2.hpp"

namespace hvsim::mmu {

enum class access_kind : std::uint8_t { read, write, execute };

/// Fault kinds with their place in ESR_ELx.ISS.FSC[5:2].
enum class fault_status : std::uint8_t {
  none = 0xFF,
  address_size = 0,
  translation = 1,
  access_flag = 2,
  permission = 3,
};

/// What the CPU does beyond the tables.
struct walk_options {
  bool hardware_af = true;    ///< VTCR_EL2.HA: the walk sets AF instead of faulting
  std::uint8_t pa_bits = 48;  ///< output addresses beyond this are address size faults
};

/// Memory as a hardware walker sees it.
///
/// A walk is atomic with regard to TLBIs that complete: a reader must not let another thread run in
/// the middle of one (a DSB waits for walks under way, so nothing could be seen in between). Bring
/// this thread up to date before the walk, not in load().
template <class R>
concept stage2_reader = requires(R& r, const entry_ref& e, descriptor d, level l) {
  { r.load(e) } -> std::same_as<descriptor>;
  { r.compare_exchange(e, d, d) } -> std::same_as<bool>;  // only to set AF
  r.visit(l);                                             // one descriptor fetched
};

/// A reader that also has the guest's stage-1 tables, stored or made up on demand.
template <class R>
concept stage1_reader = stage2_reader<R> && requires(R& r, engine::ipa entry_address, level l) {
  { r.load_stage1(entry_address, l) } -> std::same_as<descriptor>;
};

/// Where a stage-2 walk ended. The entry is the leaf, or the one that faulted.
struct stage2_walk_result {
  fault_status status = fault_status::none;
  entry_ref entry{};  ///< without a table if the address is outside the input range
  descriptor leaf{};  ///< what the entry held
  [[nodiscard]] bool ok() const { return status == fault_status::none; }
  [[nodiscard]] level lvl() const { return entry.lvl; }
};

/// Whether a stage-2 leaf lets `k` through.
constexpr bool stage2_permits(descriptor leaf, access_kind k) {
  switch (k) {
    case access_kind::read:
      return leaf.s2_readable();
    case access_kind::write:
      return leaf.s2_writable();
    case access_kind::execute:
      break;
  }
  return leaf.s2_executable();
}

/// Stage-2 walk for one access from the entry `e` down, where `e.ipa` is the address to translate:
/// from a start table, or from a table that a walk cache remembers.
template <stage2_reader R>
[[gnu::always_inline]] inline stage2_walk_result walk_stage2_from(R& reader, const stage2& s2,
                                                                  entry_ref e, access_kind k,
                                                                  const walk_options& options) {
  const engine::ipa at = e.ipa;
  descriptor d = reader.load(e);
  reader.visit(e.lvl);
  while (d.is_table(e.lvl)) {
    e = s2.entry_below(d, next(e.lvl), at);
    d = reader.load(e);
    reader.visit(e.lvl);
  }
  if (!d.is_leaf(e.lvl) || !s2.geometry.g.leaf_allowed(e.lvl))
    return {fault_status::translation, e, d};
  if ((d.raw() & bits::address) >> options.pa_bits != 0) return {fault_status::address_size, e, d};
  if (!d.accessed()) [[unlikely]] {
    if (!options.hardware_af) return {fault_status::access_flag, e, d};
    // Hardware updates the flag atomically and looks again when the entry has changed.
    while (d.is_leaf(e.lvl) && !d.accessed() && !reader.compare_exchange(e, d, d.set(bits::af)))
      d = reader.load(e);
    d = reader.load(e);
    if (!d.is_leaf(e.lvl)) return {fault_status::translation, e, d};
  }
  return {stage2_permits(d, k) ? fault_status::none : fault_status::permission, e, d};
}

/// Stage-2 walk for one access from the start tables.
template <stage2_reader R>
stage2_walk_result walk_stage2(R& reader, const stage2& s2, engine::ipa at, access_kind k,
                               const walk_options& options = {}) {
  if (!s2.geometry.contains(at)) [[unlikely]]
    return {fault_status::translation, {nullptr, 0, level::l0, at, nullptr}, {}};
  return walk_stage2_from(reader, s2, s2.start_entry(at), k, options);
}

/// Address that a leaf of 2^`shift` bytes gives to `at`: base from the leaf, offset from `at`.
constexpr std::uint64_t leaf_output(descriptor leaf, std::uint64_t at, unsigned shift) {
  const std::uint64_t mask = ~std::uint64_t{0} << shift;
  return (leaf.raw() & bits::address & mask) | (at & ~mask);
}

/// Physical address of `at` under a leaf of level `l`.
constexpr engine::pa stage2_output(granule g, descriptor leaf, level l, engine::ipa at) {
  return engine::pa{leaf_output(leaf, at.value(), g.shift(l))};
}

/// A guest's stage-1 regime: TTBR0_EL1 and TCR_EL1.
struct stage1 {
  granule g = granule_4k;
  engine::ipa table{};        ///< start table
  std::uint8_t va_bits = 48;  ///< addresses beyond are translation faults of level 0
  [[nodiscard]] level start() const { return stage1_start_level(g, va_bits); }
  /// Intermediate address of the descriptor for `va` in a table of level `l`.
  [[nodiscard]] engine::ipa entry_address(engine::ipa in_table, engine::gva va, level l) const {
    return in_table + engine::bytes{std::uint64_t{g.index(va.value(), l)} * sizeof(descriptor)};
  }
};

/// Which translation stage a fault belongs to.
enum class walk_stage : std::uint8_t { stage1, stage2 };

/// Outcome of a stage-1 walk, its table accesses translated by stage 2.
struct stage1_walk_result {
  fault_status status = fault_status::none;
  walk_stage stage = walk_stage::stage1;  ///< of the fault
  level lvl = level::l0;                  ///< of the leaf, or of the fault in its stage
  engine::ipa ipa{};       ///< output of stage 1; the table entry's address if stage 2 faulted
  descriptor leaf{};       ///< stage-1 leaf
  engine::ipa l3_table{};  ///< the level 3 table on the way, if the walk got that far
  bool has_l3_table = false;
  [[nodiscard]] bool ok() const { return status == fault_status::none; }
  /// A stage-2 fault on a stage-1 table walk (ESR_EL2.ISS.S1PTW).
  [[nodiscard]] bool s1ptw() const { return !ok() && stage == walk_stage::stage2; }
};

/// Stage-1 walk of `va` from a table at `table` of level `l`. `translate(ipa)` gives the stage-2
/// result of reading a table entry; the hardware walker reads, whatever the guest's access is.
template <stage1_reader R, class Translate>
[[gnu::always_inline]] inline stage1_walk_result walk_stage1_from(R& reader, const stage1& s1,
                                                                  engine::ipa table, level l,
                                                                  engine::gva va, access_kind k,
                                                                  Translate&& translate) {
  stage1_walk_result r;
  for (;; l = next(l)) {
    r.lvl = l;
    if (l == level::l3) {
      r.l3_table = table;
      r.has_l3_table = true;
    }
    const engine::ipa where = s1.entry_address(table, va, l);
    const stage2_walk_result below = translate(where);
    if (!below.ok()) {
      r.status = below.status;
      r.stage = walk_stage::stage2;
      r.lvl = below.lvl();
      r.ipa = where;
      // The table's own translation failed, so nothing about it may be remembered.
      r.has_l3_table = false;
      return r;
    }
    const descriptor d = reader.load_stage1(where, l);
    if (d.is_table(l)) {
      table = engine::ipa{d.table_address(s1.g).value()};
      continue;
    }
    r.leaf = d;
    if (!d.is_leaf(l) || !s1.g.leaf_allowed(l)) {
      r.status = fault_status::translation;
    } else if (!d.accessed()) {
      r.status = fault_status::access_flag;
    } else if ((k == access_kind::write && !d.s1_writable()) ||
               (k == access_kind::execute && !d.s1_executable())) {
      r.status = fault_status::permission;
    }
    r.ipa = engine::ipa{leaf_output(d, va.value(), s1.g.shift(l))};
    return r;
  }
}

/// An address that TTBR0_EL1 does not translate: translation fault of level 0.
constexpr stage1_walk_result stage1_out_of_range() {
  stage1_walk_result r;
  r.status = fault_status::translation;
  return r;
}

/// Stage-1 walk of `va` from the start table, without walk caches.
template <stage1_reader R>
stage1_walk_result walk_stage1(R& reader, const stage2& s2, const stage1& s1, engine::gva va,
                               access_kind k, const walk_options& options = {}) {
  if (va.value() >> s1.va_bits != 0) return stage1_out_of_range();
  return walk_stage1_from(reader, s1, s1.table, s1.start(), va, k, [&](engine::ipa where) {
    return walk_stage2(reader, s2, where, access_kind::read, options);
  });
}

}  // namespace hvsim::mmu
