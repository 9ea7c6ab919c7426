// SPDX-License-Identifier: Apache-2.0
// Installing a leaf, with splits and collapses on the way.
#pragma once

#include "mmu/stage2_collapse.hpp"

namespace hvsim::mmu {

namespace detail {

/// Puts a leaf into `e`, which nothing hangs on, up to 6.1.
template <stage2_filler P>
[[gnu::always_inline]] inline void put_leaf(P& port, const stage2& s2, const entry_ref& e,
                                            descriptor leaf) {
  maintain_caches(port, s2, leaf, e.lvl);
  port.store(e, leaf);
  port.get_page(e.table);
}

/// The same in the parallel series, where the entry is locked.
template <stage2_filler P>
[[gnu::always_inline]] inline void make_leaf(P& port, const stage2& s2, const entry_ref& e,
                                             descriptor leaf) {
  maintain_caches(port, s2, leaf, e.lvl);
  make_entry(port, s2, e, leaf);
}

/// The last step of map, up to 6.1: `e` of the leaf's level holds `old`.
template <stage2_port P>
[[gnu::always_inline]] inline stage2_result install_exclusive(P& port, const stage2& s2,
                                                              const entry_ref& e, descriptor old,
                                                              descriptor leaf) {
  if (old.is_table(e.lvl)) return collapse(port, s2, e, old, leaf, false);
  if (old.counted()) {
    if (!needs_update(old, leaf)) return stage2_result::again;
    put_entry(port, e, old, e.lvl);
  }
  put_leaf(port, s2, e, leaf);
  return stage2_result::ok;
}

/// The last step of map in the parallel series.
template <stage2_port P>
[[gnu::always_inline]] inline stage2_result install_parallel(P& port, const stage2& s2,
                                                             const entry_ref& e, descriptor old,
                                                             descriptor leaf, bool shared) {
  if (!needs_update(old, leaf)) return stage2_result::again;
  if (old.is_table(e.lvl)) return collapse(port, s2, e, old, leaf, shared);
  if (!try_break(port, s2, e, old, shared)) return stage2_result::again;
  make_leaf(port, s2, e, leaf);
  return stage2_result::ok;
}

/// Up to 6.1: the caller has the tree to itself.
template <stage2_port P>
stage2_result map_exclusive(P& port, const stage2& s2, engine::ipa at, level target,
                            descriptor leaf) {
  for (entry_ref e = s2.start_entry(at);;) {
    const level l = e.lvl;
    const descriptor old = port.load(e);
    port.visit(l);
    if (l == target) return install_exclusive(port, s2, e, old, leaf);
    if (old.is_table(l)) {
      e = s2.entry_below(old, next(l), at);
      continue;
    }
    table_page* child = port.alloc_table(next(l));
    if (child == nullptr) return stage2_result::nomem;
    child->lvl = next(l);
    if (old.counted()) put_entry(port, e, old, l);
    port.store(e, make_table(s2.memory->address(child)));
    port.get_page(e.table);
    e = s2.entry(child, next(l), at);
  }
}

/// Replaces what `e` holds by an empty table.
template <stage2_port P>
stage2_result make_child(P& port, const stage2& s2, const entry_ref& e, descriptor old,
                         bool shared) {
  const bool break_first = s2.policy.split == split_order::break_first;
  if (break_first && !try_break(port, s2, e, old, shared)) return stage2_result::again;
  table_page* child = port.alloc_table(next(e.lvl));
  if (child == nullptr) {
    if (break_first) port.store(e, descriptor{});
    return stage2_result::nomem;
  }
  child->lvl = next(e.lvl);
  if (!break_first && !try_break(port, s2, e, old, shared)) {
    port.put_page(child);
    return stage2_result::again;
  }
  make_entry(port, s2, e, make_table(s2.memory->address(child)));
  return stage2_result::ok;
}

/// The parallel series, posted and merged.
template <stage2_port P>
stage2_result map_parallel(P& port, const stage2& s2, engine::ipa at, level target, descriptor leaf,
                           bool shared) {
  for (entry_ref e = s2.start_entry(at);;) {
    const level l = e.lvl;
    descriptor old = port.load(e);
    port.visit(l);
    if (l == target) return install_parallel(port, s2, e, old, leaf, shared);
    if (!old.is_table(l)) {
      if (const stage2_result r = make_child(port, s2, e, old, shared); r != stage2_result::ok)
        return r;
      // Another walker may already be replacing the new table: then there is nothing to descend
      // into, and the guest faults again. (The kernel also reads again entries that were tables; a
      // table that goes away just then is safe to use under RCU, and the outcome is the same.)
      old = port.load(e);
      if (!old.is_table(l)) return stage2_result::ok;
    }
    e = s2.entry_below(old, next(l), at);
  }
}

[[noreturn]] void fail_map(engine::ipa at, engine::bytes n);

}  // namespace detail

/// Maps the leaf of `size` bytes at `at` to `to`.
///
/// again: another walker was faster, or the mapping differs in permissions only (relax_perms is
/// for that); nothing changed. nomem: the memory cache ran out; tables installed so far stay.
/// `shared`: other walkers may work on the tree at the same time (never so for `exclusive`).
/// Throws table_error for a size that is no leaf size or for addresses not aligned to it.
template <stage2_port P>
stage2_result map(P& port, const stage2& s2, engine::ipa at, engine::bytes size, engine::pa to,
                  stage2_attributes attributes, bool shared) {
  detail::check_range(s2, at, size);
  const std::optional<level> target = s2.geometry.g.leaf_level(size);
  if (!target || ((at.value() | to.value()) & (size.value() - 1)) != 0) [[unlikely]]
    detail::fail_map(at, size);
  attributes.fwb = s2.policy.fwb;
  const descriptor leaf = make_stage2_leaf(to, *target, attributes);
  const stage2_result r = s2.policy.walker == walker_flavour::exclusive
                              ? detail::map_exclusive(port, s2, at, *target, leaf)
                              : detail::map_parallel(port, s2, at, *target, leaf, shared);
  port.dsb_ishst();
  return r;
}

/// map of one page below a level 3 table that the caller has seen hanging in the tree and that
/// nobody else can take away meanwhile. The descriptors above it are visited but not read again:
/// they cannot have changed. Everything else is as in map().
template <stage2_port P>
[[gnu::always_inline]] inline stage2_result map_page_below(P& port, const stage2& s2,
                                                           table_page* table, engine::ipa at,
                                                           engine::pa to,
                                                           stage2_attributes attributes,
                                                           bool shared) {
  attributes.fwb = s2.policy.fwb;
  const descriptor leaf = make_stage2_leaf(to, level::l3, attributes);
  for (level l = s2.geometry.start; l != level::l3; l = next(l)) port.visit(l);
  const entry_ref e = s2.entry(table, level::l3, at);
  const descriptor old = port.load(e);
  port.visit(level::l3);
  const stage2_result r = s2.policy.walker == walker_flavour::exclusive
                              ? detail::install_exclusive(port, s2, e, old, leaf)
                              : detail::install_parallel(port, s2, e, old, leaf, shared);
  port.dsb_ishst();
  return r;
}

/// map_page_below for an entry that is empty.
template <stage2_filler P>
requires requires(P& p, level l) {
  p.visit_from(l);
}  // visit of each level from `l` to level 3
[[gnu::always_inline]] inline stage2_result fill_page_below(P& port, const stage2& s2,
                                                            const entry_ref& e, descriptor leaf,
                                                            bool shared) {
  port.visit_from(s2.geometry.start);
  stage2_result r = stage2_result::ok;
  if (s2.policy.walker == walker_flavour::exclusive) {
    detail::put_leaf(port, s2, e, leaf);
  } else if (detail::try_lock(port, e, descriptor{}, shared)) {
    detail::make_leaf(port, s2, e, leaf);
  } else {
    r = stage2_result::again;
  }
  port.dsb_ishst();
  return r;
}

}  // namespace hvsim::mmu
