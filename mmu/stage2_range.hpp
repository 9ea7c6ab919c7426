// SPDX-License-Identifier: Apache-2.0
// Depth-first visit of the entries that cover a range of addresses.
#pragma once

#include "mmu/stage2_entry.hpp"

namespace hvsim::mmu::detail {

/// Visits the entries of `t` for [at, end); `at` moves to the first address not visited.
/// V supplies `stage2_result leaf(e, old)` for entries that are no table, `void post(e, old)` after
/// a table's children, and `V::descends`: whether leaf() may install a table to go on into.
template <stage2_port P, class V>
stage2_result visit_table(P& port, const stage2& s2, table_page* t, level l, engine::ipa& at,
                          engine::ipa end, V& v) {
  const granule g = s2.geometry.g;
  const unsigned entries = g.entries();
  for (unsigned i = g.index(at.value(), l); i < entries && at < end; ++i) {
    const entry_ref e{t, i, l, at, t->entries + i};
    descriptor old = port.load(e);
    port.visit(l);
    if (!old.is_table(l)) {
      if (const stage2_result r = v.leaf(e, old); r != stage2_result::ok) return r;
      if constexpr (V::descends) old = port.load(e);
      if (!V::descends || !old.is_table(l)) {
        at = at.align_down(g.shift(l)) + g.size(l);
        continue;
      }
    }
    if (const stage2_result r = visit_table(port, s2, s2.follow(old), next(l), at, end, v);
        r != stage2_result::ok)
      return r;
    v.post(e, old);
  }
  return stage2_result::ok;
}

/// visit_table over the start tables that cover [at, at + n).
template <stage2_port P, class V>
stage2_result visit_range(P& port, const stage2& s2, engine::ipa at, engine::bytes n, V& v) {
  check_range(s2, at, n);
  const engine::ipa end = at + n;
  while (at < end)
    if (const stage2_result r =
            visit_table(port, s2, s2.start_table(at), s2.geometry.start, at, end, v);
        r != stage2_result::ok)
      return r;
  return stage2_result::ok;
}

}  // namespace hvsim::mmu::detail
