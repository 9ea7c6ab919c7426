// SPDX-License-Identifier: Apache-2.0
// Taking mappings and tables away.
#pragma once

#include "mmu/stage2_range.hpp"

namespace hvsim::mmu {

namespace detail {

/// Drops the references of a tree that no hardware walker can reach.
template <stage2_port P>
struct free_visitor {
  static constexpr bool descends = false;
  P& port;
  const stage2& s2;
  stage2_result leaf(const entry_ref& e, descriptor old) {
    if (old.counted() && !old.locked()) port.put_page(e.table);
    return stage2_result::ok;
  }
  void post(const entry_ref& e, descriptor old) {
    port.put_page(e.table);
    port.put_page(s2.follow(old));
  }
};

template <stage2_port P>
struct unmap_visitor {
  static constexpr bool descends = false;
  P& port;
  const stage2& s2;
  bool defer_flush;

  stage2_result leaf(const entry_ref& e, descriptor old) {
    if (!old.valid()) {
      if (old.counted()) {
        port.store(e, descriptor{});
        port.put_page(e.table);
      }
      return stage2_result::ok;
    }
    drop(e, old, e.lvl, defer_flush);
    if (!s2.policy.fwb && old.s2_cacheable(false))
      port.clean_dcache(old.output_base(s2.geometry.g, e.lvl), s2.geometry.g.size(e.lvl));
    return stage2_result::ok;
  }
  void post(const entry_ref& e, descriptor old) {
    table_page* child = s2.follow(old);
    if (child->refs != 1) return;
    drop(e, old, std::nullopt, false);
    port.put_page(child);
  }

 private:
  void drop(const entry_ref& e, descriptor old, level_hint hint, bool skip_flush) {
    if (s2.policy.walker != walker_flavour::merged) return put_entry(port, e, old, hint);
    port.store(e, descriptor{});
    if (!skip_flush) port.tlbi_ipa(e.ipa, hint);
    port.put_page(e.table);
  }
};

}  // namespace detail

/// Frees the subtree `t` that hung below an entry of level `l` and that nobody can reach any more:
/// drops every reference in it and the page itself. Entries are left as they are.
template <stage2_port P>
void free_unlinked(P& port, const stage2& s2, table_page* t, level l) {
  port.free_unlinked_called(l);
  detail::free_visitor<P> v{port, s2};
  engine::ipa at{};
  (void)detail::visit_table(port, s2, t, next(l), at, engine::ipa{} + s2.geometry.g.size(l), v);
  port.put_page(t);
}

/// Unmaps [at, at + n): every leaf that the range touches goes as a whole, and tables that become
/// empty go with it. The caller holds the tree exclusively. Throws table_error outside the input
/// range.
template <stage2_port P>
void unmap(P& port, const stage2& s2, engine::ipa at, engine::bytes n) {
  const bool defer_flush = s2.policy.tlb_range && s2.policy.fwb;
  detail::unmap_visitor<P> v{port, s2, defer_flush};
  (void)detail::visit_range(port, s2, at, n, v);
  if (defer_flush) port.tlbi_range(at, n);
}

/// Frees a whole tree, without maintenance: the VM is gone. `s2.start` is null afterwards.
template <stage2_port P>
void destroy(P& port, stage2& s2) {
  detail::free_visitor<P> v{port, s2};
  (void)detail::visit_range(port, s2, engine::ipa{},
                            engine::bytes{std::uint64_t{1} << s2.geometry.ipa_bits}, v);
  for (unsigned i = 0; i < s2.geometry.start_tables; ++i) port.free_table(s2.start + i);
  s2.start = nullptr;
}

}  // namespace hvsim::mmu
