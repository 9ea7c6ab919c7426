// SPDX-License-Identifier: Apache-2.0
// Changing the attributes of leaves in place.
#pragma once

#include "mmu/stage2_range.hpp"

namespace hvsim::mmu {

/// The entry at which a lookup ended: a leaf, or an entry that maps nothing.
struct leaf_lookup {
  entry_ref entry;
  descriptor value;
};

/// Walks to the entry that decides about `at`, without changing anything.
template <stage2_port P>
leaf_lookup get_leaf(P& port, const stage2& s2, engine::ipa at) {
  detail::check_range(s2, at, engine::bytes{1});
  for (entry_ref e = s2.start_entry(at);;) {
    const descriptor d = port.load(e);
    port.visit(e.lvl);
    if (!d.is_table(e.lvl)) return {e, d};
    e = s2.entry_below(d, next(e.lvl), at);
  }
}

namespace detail {

/// Sets and clears attribute bits of one entry.
template <stage2_port P>
stage2_result update_entry(P& port, const stage2& s2, const entry_ref& e, descriptor old,
                           std::uint64_t set, std::uint64_t clear, bool shared) {
  if (!old.valid()) {
    const bool fails = s2.policy.relax_eagain_on_invalid ||
                       (s2.policy.walker == walker_flavour::rfc && old.locked());
    return fails ? stage2_result::again : stage2_result::ok;
  }
  const descriptor desired = old.clear(clear).set(set);
  if (desired == old) return stage2_result::ok;
  if (desired.s2_executable() && !old.s2_executable()) {
    const granule& g = s2.geometry.g;
    port.invalidate_icache(old.output_base(g, e.lvl),
                           s2.policy.dic ? engine::bytes{} : g.size(e.lvl));
  }
  // Before the series this is a plain store also under the read lock.
  const bool cas = shared && s2.policy.walker != walker_flavour::exclusive;
  return try_set(port, e, old, desired, cas) ? stage2_result::ok : stage2_result::again;
}

template <stage2_port P>
struct update_visitor {
  static constexpr bool descends = false;
  P& port;
  const stage2& s2;
  std::uint64_t set, clear;
  bool accessed = false;
  stage2_result leaf(const entry_ref& e, descriptor old) {
    if (old.valid() && old.accessed()) accessed = true;
    // Outside fault handling a lost race or an empty entry does not end the walk.
    (void)update_entry(port, s2, e, old, set, clear, false);
    return stage2_result::ok;
  }
  void post(const entry_ref&, descriptor) {}
};

}  // namespace detail

/// Adds the permissions that `add` grants to the leaf at `at` and flushes its old translation.
/// again: the entry was empty, locked or changed meanwhile (which of these fail is policy).
template <stage2_port P>
stage2_result relax_perms(P& port, const stage2& s2, engine::ipa at, const stage2_attributes& add,
                          bool shared) {
  const std::uint64_t set = (add.read ? bits::s2ap_read : 0) | (add.write ? bits::s2ap_write : 0);
  const leaf_lookup found = get_leaf(port, s2, at);
  const stage2_result r = detail::update_entry(port, s2, found.entry, found.value, set,
                                               add.execute ? bits::s2_xn : 0, shared);
  const bool done = r == stage2_result::ok;
  if (done || s2.policy.relax_tlbi_on_eagain) {
    const level_hint hint =
        done && found.value.valid() ? level_hint{found.entry.lvl} : std::nullopt;
    if (s2.policy.relax == relax_tlbi::local)
      port.tlbi_ipa_local(at, hint);
    else
      port.tlbi_ipa(at, hint);
  }
  return r;
}

/// Takes the write permission from every leaf that [at, at + n) touches, without a flush: that is
/// the caller's. The caller holds the tree exclusively.
template <stage2_port P>
void wrprotect(P& port, const stage2& s2, engine::ipa at, engine::bytes n) {
  detail::update_visitor<P> v{port, s2, 0, bits::s2ap_write};
  (void)detail::visit_range(port, s2, at, n, v);
}

/// Sets the access flag of the leaf at `at` after an access flag fault.
template <stage2_port P>
stage2_result mkyoung(P& port, const stage2& s2, engine::ipa at, bool shared) {
  const leaf_lookup found = get_leaf(port, s2, at);
  const stage2_result r =
      detail::update_entry(port, s2, found.entry, found.value, bits::af, 0, shared);
  if (r == stage2_result::ok || s2.policy.walker != walker_flavour::merged) port.dsb_ishst();
  return r;
}

/// Whether any leaf that [at, at + n) touches was accessed; clears the flags if `make_old`.
/// The caller holds the tree exclusively; the flush is its own.
template <stage2_port P>
bool test_clear_young(P& port, const stage2& s2, engine::ipa at, engine::bytes n, bool make_old) {
  detail::update_visitor<P> v{port, s2, 0, make_old ? bits::af : 0};
  (void)detail::visit_range(port, s2, at, n, v);
  return v.accessed;
}

}  // namespace hvsim::mmu
