// SPDX-License-Identifier: Apache-2.0
// What the kernel's work on stage-2 tables costs and counts, where no other thread is concerned.
#pragma once

#include "sim/hypervisor/vm.hpp"

namespace hvsim::hypervisor {

/// The common part of the ports of mmu's stage-2 operations. `Clock` takes the time:
/// engine::thread or engine::local_clock. Short-lived; belongs to the caller's fiber.
template <class Clock>
class table_charges {
 public:
  table_charges(vm& v, machine::cpu& c, Clock& t) : vm_(v), c_(c), t_(t) {}

  void dsb_ishst() { t_.advance(engine::part::table_work, costs().table_update.mean); }
  void invalidate_icache(engine::pa, engine::bytes n) {
    vm_.counters_.add(sized_event::cmo_icache, n);
    t_.advance(engine::part::cache_maintenance, costs().instruction_barrier.mean);
  }
  void get_page(mmu::table_page* p) { vm_.memory_.get(p); }
  void break_pte_called() { vm_.counters_.add(event::break_pte); }

 protected:
  [[nodiscard]] const machine::cost_table& costs() const { return vm_.machine_.costs(); }
  /// Of a descriptor in memory.
  void charge_update() { t_.advance(engine::part::table_work, costs().table_update.mean); }
  /// DC CIVAC of each line; the barrier comes after it.
  [[nodiscard, gnu::always_inline]] engine::duration draw_clean_loop(engine::bytes n) {
    vm_.counters_.add(sized_event::cmo_dcache, n);
    return costs().clean_line.draw(c_.random) * static_cast<std::int64_t>(n.value() / 64);
  }
  [[gnu::always_inline]] void charge_clean_barrier() {
    t_.advance(engine::part::cache_maintenance, costs().clean_barrier.draw(c_.random));
  }

  vm& vm_;
  machine::cpu& c_;
  Clock& t_;
};

}  // namespace hvsim::hypervisor
