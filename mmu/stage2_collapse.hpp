// SPDX-License-Identifier: Apache-2.0
// Replacing a table by a block, the way each kernel does it.
#pragma once

#include "mmu/stage2_unmap.hpp"

namespace hvsim::mmu::detail {

/// 6.1: drops the subtree below a cleared entry, visiting children before their table.
template <stage2_port P>
struct prune_visitor {
  static constexpr bool descends = false;
  P& port;
  const stage2& s2;
  stage2_result leaf(const entry_ref& e, descriptor old) {
    if (old.counted()) port.put_page(e.table);
    return stage2_result::ok;
  }
  void post(const entry_ref& e, descriptor old) {
    port.put_page(s2.follow(old));
    port.put_page(e.table);
  }
};

template <stage2_port P>
stage2_result collapse_pre_post(P& port, const stage2& s2, const entry_ref& e, descriptor old,
                                descriptor block) {
  table_page* child = s2.follow(old);
  port.store(e, descriptor{});
  port.tlbi_vmid();
  child->state = table_state::detached;
  prune_visitor<P> v{port, s2};
  engine::ipa at = e.ipa;
  (void)visit_table(port, s2, child, next(e.lvl), at, e.ipa + s2.geometry.g.size(e.lvl), v);
  maintain_caches(port, s2, block, e.lvl);
  port.store(e, block);
  port.get_page(e.table);
  port.put_page(child);
  port.put_page(e.table);
  return stage2_result::ok;
}

/// RFC: one grace period for each table page of a shared walk.
template <stage2_port P>
void release_table(P& port, const stage2& s2, table_page* t, bool shared) {
  if (shared && s2.policy.free == table_free::rcu_per_page && !s2.policy.free_without_rcu)
    port.defer_put_page(t);
  else
    port.put_page(t);
}

/// RFC: takes every entry of a detached table away from walkers that are still in it.
template <stage2_port P>
void lock_descendants(P& port, const stage2& s2, table_page* t, level l, engine::ipa at,
                      bool shared) {
  const granule g = s2.geometry.g;
  for (unsigned i = 0; i < g.entries(); ++i, at = at + g.size(l)) {
    const entry_ref e{t, i, l, at, t->entries + i};
    port.visit(l);
    descriptor old = port.exchange(e, locked_descriptor);
    while (old.locked()) {
      port.relax_cpu();
      old = port.exchange(e, locked_descriptor);
    }
    if (old.is_table(l)) {
      table_page* child = s2.follow(old);
      lock_descendants(port, s2, child, next(l), at, shared);
      child->state = table_state::detached;
      release_table(port, s2, child, shared);
    }
    if (old.counted()) port.put_page(t);
  }
}

template <stage2_port P>
stage2_result collapse_lock_descendants(P& port, const stage2& s2, const entry_ref& e,
                                        descriptor old, descriptor block, bool shared) {
  if (!try_break(port, s2, e, old, shared)) return stage2_result::again;
  table_page* child = s2.follow(old);
  child->state = table_state::detached;
  lock_descendants(port, s2, child, next(e.lvl), e.ipa, shared);
  maintain_caches(port, s2, block, e.lvl);
  make_entry(port, s2, e, block);
  release_table(port, s2, child, shared);
  port.put_page(e.table);  // the reference that the table descriptor held
  return stage2_result::ok;
}

template <stage2_port P>
stage2_result collapse_detach(P& port, const stage2& s2, const entry_ref& e, descriptor old,
                              descriptor block, bool shared) {
  if (!try_break(port, s2, e, old, shared)) return stage2_result::again;
  maintain_caches(port, s2, block, e.lvl);
  make_entry(port, s2, e, block);
  table_page* child = s2.follow(old);
  child->state = table_state::detached;
  if (s2.policy.free != table_free::immediate && !s2.policy.free_without_rcu)
    port.defer_free(child, e.lvl);
  else
    free_unlinked(port, s2, child, e.lvl);
  return stage2_result::ok;
}

/// Replaces the table in `e` by `block`. `e.ipa` must be aligned to the block.
template <stage2_port P>
stage2_result collapse(P& port, const stage2& s2, const entry_ref& e, descriptor old,
                       descriptor block, bool shared) {
  switch (s2.policy.collapse) {
    case collapse_flavour::pre_post:
      return collapse_pre_post(port, s2, e, old, block);
    case collapse_flavour::lock_descendants:
      return collapse_lock_descendants(port, s2, e, old, block, shared);
    case collapse_flavour::detach:
      break;
  }
  return collapse_detach(port, s2, e, old, block, shared);
}

}  // namespace hvsim::mmu::detail
