// SPDX-License-Identifier: Apache-2.0
// How checkers look at stage-2 tables.
#pragma once

#include "mmu/stage2.hpp"
#include "sim/check/page_window.hpp"

namespace hvsim::hypervisor {

/// What `s2` says about the page at `at` now; takes no time and goes through no port.
[[nodiscard]] inline check::page_view view_page(const mmu::stage2& s2, engine::ipa at) {
  mmu::entry_ref e = s2.start_entry(at);
  mmu::descriptor d = e.in_memory();
  while (d.is_table(e.lvl)) {
    e = s2.entry_below(d, mmu::next(e.lvl), at);
    d = e.in_memory();
  }
  if (!d.is_leaf(e.lvl)) return {};
  const mmu::granule& g = s2.geometry.g;
  const engine::bytes size = g.size(e.lvl);
  const std::uint64_t inside = at.value() & (size.value() - 1);
  return {true, engine::pa{d.output_base(g, e.lvl).value() + inside}, size, d.s2_readable(),
          d.s2_writable()};
}

/// The same as a function; `s2` must outlive it.
[[nodiscard]] inline check::table_reader table_reader_of(const mmu::stage2& s2) {
  return [&s2](engine::ipa at) { return view_page(s2, at); };
}

}  // namespace hvsim::hypervisor
