// SPDX-License-Identifier: Apache-2.0
// Steps on one entry that the stage-2 operations share: replace, break, make, cache maintenance.
#pragma once

#include "mmu/stage2.hpp"

namespace hvsim::mmu::detail {

/// Writes `desired` over `old`; a shared walker may lose the race and get false.
template <stage2_filler P>
[[gnu::always_inline]] inline bool try_set(P& port, const entry_ref& e, descriptor old,
                                           descriptor desired, bool shared) {
  if (shared) return port.compare_exchange(e, old, desired);
  port.store(e, desired);
  return true;
}

/// Flushes what a table entry made reachable.
template <stage2_port P>
void flush_table(P& port, const stage2& s2, const entry_ref& e) {
  if (s2.policy.tlb_range)
    port.tlbi_range(e.ipa.align_down(s2.geometry.g.shift(e.lvl)), s2.geometry.g.size(e.lvl));
  else
    port.tlbi_vmid();
}

/// First step of a break (rfc, merged): locks the entry. False if another walker holds or has
/// changed it.
template <stage2_filler P>
[[gnu::always_inline]] inline bool try_lock(P& port, const entry_ref& e, descriptor old,
                                            bool shared) {
  port.break_pte_called();
  return !old.locked() && try_set(port, e, old, locked_descriptor, shared);
}

/// Break half of break-before-make (rfc, merged): leaves the entry locked, flushes what it held
/// and drops its reference. False if another walker holds or has changed the entry.
template <stage2_port P>
[[gnu::always_inline]] inline bool try_break(P& port, const stage2& s2, const entry_ref& e,
                                             descriptor old, bool shared) {
  if (!try_lock(port, e, old, shared)) return false;
  const bool rfc = s2.policy.walker == walker_flavour::rfc;
  const bool table = old.is_table(e.lvl);
  if (old.valid()) {
    if (rfc) port.dsb_ishst();
    if (table)
      flush_table(port, s2, e);
    else
      port.tlbi_ipa(e.ipa, e.lvl);
  }
  // The RFC drops a table's reference only after its subtree is gone.
  if (old.counted() && !(rfc && table)) port.put_page(e.table);
  return true;
}

/// Make half of break-before-make (rfc, merged).
template <stage2_filler P>
[[gnu::always_inline]] inline void make_entry(P& port, const stage2& s2, const entry_ref& e,
                                              descriptor desired) {
  port.get_page(e.table);
  port.store(e, desired);
  if (s2.policy.walker == walker_flavour::rfc && desired.valid()) port.dsb_ishst();
}

/// 6.1's helper: clear, flush by IPA, drop the reference. `hint` is unknown for a table.
template <stage2_port P>
void put_entry(P& port, const entry_ref& e, descriptor old, level_hint hint) {
  port.put_pte_called();
  if (old.valid()) {
    port.store(e, descriptor{});
    port.tlbi_ipa(e.ipa, hint);
  }
  port.put_page(e.table);
}

/// Cache maintenance before a leaf becomes visible to the guest.
template <stage2_filler P>
[[gnu::always_inline]] inline void maintain_caches(P& port, const stage2& s2, descriptor leaf,
                                                   level l) {
  const granule& g = s2.geometry.g;
  if (!s2.policy.fwb && leaf.s2_cacheable(false))
    port.clean_dcache(leaf.output_base(g, l), g.size(l));
  if (leaf.s2_executable())
    port.invalidate_icache(leaf.output_base(g, l), s2.policy.dic ? engine::bytes{} : g.size(l));
}

/// Whether replacing `old` takes more than a change of permissions.
constexpr bool needs_update(descriptor old, descriptor desired) {
  if (!old.valid() || !desired.valid()) return true;
  return ((old.raw() ^ desired.raw()) & ~bits::s2_permissions) != 0;
}

[[noreturn]] void fail_range(engine::ipa at, engine::bytes n);

/// Throws table_error unless [at, at + n) lies in the input range.
inline void check_range(const stage2& s2, engine::ipa at, engine::bytes n) {
  if (!s2.geometry.contains(at) ||
      n.value() > (std::uint64_t{1} << s2.geometry.ipa_bits) - at.value()) [[unlikely]]
    fail_range(at, n);
}

}  // namespace hvsim::mmu::detail
