// SPDX-License-Identifier: Apache-2.0
// Eager split: blocks become fully populated tables (Linux 6.5).
#pragma once

#include "mmu/stage2_unmap.hpp"

namespace hvsim::mmu {

namespace detail {

/// Fills `t`, an unlinked table below level `l`, with leaves that together map what a block of
/// level `l` at `base` maps. Nobody else sees these pages, so they are written directly.
template <stage2_port P>
void fill_unlinked(P& port, const stage2& s2, table_page* t, level l, engine::pa base,
                   const stage2_attributes& attributes, bool to_pages) {
  const granule g = s2.geometry.g;
  const level below = next(l);
  t->lvl = below;
  for (unsigned i = 0; i < g.entries(); ++i, base = base + g.size(below)) {
    port.visit(below);
    if (to_pages && below != level::l3) {
      table_page* child = port.alloc_table(next(below));  // the caller has counted the pages
      port.break_pte_called();
      t->entries[i] = make_table(s2.memory->address(child));
      port.get_page(t);
      fill_unlinked(port, s2, child, below, base, attributes, to_pages);
    } else {
      port.break_pte_called();
      t->entries[i] = make_stage2_leaf(base, below, attributes);
      port.get_page(t);
    }
  }
}

template <stage2_port P>
struct split_visitor {
  static constexpr bool descends = true;
  P& port;
  const stage2& s2;
  bool shared;

  stage2_result leaf(const entry_ref& e, descriptor old) {
    if (e.lvl == level::l3 || !old.valid()) return stage2_result::ok;
    const granule& g = s2.geometry.g;
    // A block two levels above pages takes one table of blocks plus a table for each of them.
    const std::size_t full = e.lvl == level::l2 ? 1 : std::size_t{1} + g.entries();
    const std::size_t available = port.tables_available();
    if (available == 0) return stage2_result::nomem;
    const bool to_pages = available >= full;
    port.create_unlinked_called(e.lvl);
    table_page* child = port.alloc_table(next(e.lvl));
    fill_unlinked(port, s2, child, e.lvl, old.output_base(g, e.lvl),
                  decode_stage2_attributes(old, s2.policy.fwb), to_pages);
    if (!try_break(port, s2, e, old, shared)) {
      free_unlinked(port, s2, child, e.lvl);
      return stage2_result::again;
    }
    make_entry(port, s2, e, make_table(s2.memory->address(child)));
    return stage2_result::ok;
  }
  void post(const entry_ref&, descriptor) {}
};

}  // namespace detail

/// Splits every block that [at, at + n) touches down to pages, with the block's permissions.
/// nomem: the memory cache ran out (blocks split so far stay split); again: lost a race.
/// For the parallel flavours only; `shared` as for map().
template <stage2_port P>
stage2_result split(P& port, const stage2& s2, engine::ipa at, engine::bytes n,
                    bool shared = false) {
  port.split_called(n);
  detail::split_visitor<P> v{port, s2, shared};
  const stage2_result r = detail::visit_range(port, s2, at, n, v);
  port.dsb_ishst();
  return r;
}

}  // namespace hvsim::mmu
