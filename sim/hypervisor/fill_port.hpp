// SPDX-License-Identifier: Apache-2.0
// How a fault reaches the one entry that it fills, where nobody else can reach it.
#pragma once

#include "sim/hypervisor/table_charges.hpp"

namespace hvsim::hypervisor {

/// The port of mmu::fill_page_below for an empty entry of a private chunk: costs and counts of
/// table_port, without its syncs.
template <class Clock>
class fill_port : public table_charges<Clock> {
 public:
  using table_charges<Clock>::table_charges;

  void visit_from(mmu::level start) {
    const int levels = mmu::to_int(mmu::level::l3) - mmu::to_int(start) + 1;
    this->t_.advance(engine::part::table_work, this->costs().table_visit.mean * levels);
  }
  void store(const mmu::entry_ref& e, mmu::descriptor d) { update(e, d); }
  bool compare_exchange(const mmu::entry_ref& e, mmu::descriptor expected,
                        mmu::descriptor desired) {
    if (*e.where != expected) [[unlikely]] {
      this->charge_update();
      return false;
    }
    update(e, desired);
    return true;
  }
  [[gnu::always_inline]] void clean_dcache(engine::pa, engine::bytes n) {
    const engine::duration loop = this->draw_clean_loop(n);
    this->t_.advance(engine::part::cache_maintenance, loop);
    this->charge_clean_barrier();
  }

 private:
  [[gnu::always_inline]] void update(const mmu::entry_ref& e, mmu::descriptor d) {
    mmu::table_memory::check_access(e.table);
    this->vm_.privacy_.check(*this->c_.thread, access::object::descriptor, access::use::write,
                             e.ipa);
    this->charge_update();
    *e.where = d;
  }
};

}  // namespace hvsim::hypervisor
