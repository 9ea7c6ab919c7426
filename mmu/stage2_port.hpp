// SPDX-License-Identifier: Apache-2.0
// What the stage-2 operations need from the world around them.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "mmu/table_memory.hpp"

namespace hvsim::mmu {

/// One entry of a live (or, under RCU, detached) table.
struct entry_ref {
  table_page* table;    ///< page that holds the entry
  std::uint32_t index;  ///< 0 to granule.entries() - 1
  level lvl;            ///< level of the entry
  engine::ipa ipa;      ///< the address for which the walker visits the entry, not rounded down
  descriptor* where;    ///< the entry in memory

  /// The entry in memory, for ports that implement load, store and the rest.
  [[nodiscard]] descriptor& in_memory() const { return *where; }
};

/// Memory accesses, table pages, maintenance and cost hooks of the stage-2 operations.
///
/// Every descriptor access that another thread may see is one call of load, store, compare_exchange
/// or exchange; a call may switch fibers. Calls happen exactly where and as often as the modelled
/// kernel makes them, so a port may count them as a probe on that kernel function would. A level
/// hint is what the kernel passes to its TLBI helper, whether or not the CPU has FEAT_TTL.
/// First, what it takes to fill an empty entry.
template <class P>
concept stage2_filler = requires(P& p, const entry_ref& e, descriptor d, table_page* t,
                                 engine::pa a, engine::bytes n) {
  p.store(e, d);                                          // WRITE_ONCE or store-release
  { p.compare_exchange(e, d, d) } -> std::same_as<bool>;  // (entry, expected, desired)
  p.get_page(t);                                          // table_memory::get
  p.clean_dcache(a, n);                                   // DC CIVAC of each line, then DSB
  p.invalidate_icache(a, n);  // IC IVAU of each line; n is 0 with CTR_EL0.DIC (an ISB)
  p.dsb_ishst();
  p.break_pte_called();  // entry of the series' try-break helper
};

/// Everything that the operations need.
template <class P>
concept stage2_port = stage2_filler<P> &&
    requires(P& p, const entry_ref& e, descriptor d, table_page* t, level l, level_hint hint,
             engine::ipa i, engine::bytes n) {
  { p.load(e) } -> std::same_as<descriptor>;         // READ_ONCE
  { p.exchange(e, d) } -> std::same_as<descriptor>;  // returns the value before

  { p.alloc_table(l) } -> std::same_as<table_page*>;  // zeroed, refs 1; null: cache empty
  { p.tables_available() } -> std::convertible_to<std::size_t>;  // left in the memory cache
  p.free_table(t);                                               // start table of a destroyed tree
  p.defer_free(t, l);   // after a grace period call free_unlinked(port, s2, t, l)
  p.defer_put_page(t);  // after a grace period call put_page(t)
  p.put_page(t);        // table_memory::put: the last one frees the page

  p.tlbi_ipa(i, hint);        // IPAS2E1IS + VMALLE1IS, with their barriers
  p.tlbi_ipa_local(i, hint);  // IPAS2E1 + VMALLE1, non-shareable
  p.tlbi_vmid();              // VMALLS12E1IS
  p.tlbi_range(i, n);         // RIPAS2E1IS over the range + VMALLE1IS
  p.relax_cpu();              // one turn of a spin loop
  p.visit(l);                 // a walker visits one descriptor of this level

  p.put_pte_called();           // entry of 6.1's clear-flush-put helper
  p.create_unlinked_called(l);  // a populated unlinked table for an entry of level l
  p.free_unlinked_called(l);    // freeing of a subtree that hung below an entry of level l
  p.split_called(n);            // eager split of a range of n bytes
};

}  // namespace hvsim::mmu
