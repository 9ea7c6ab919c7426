// SPDX-License-Identifier: Apache-2.0
// A fault that fills an empty entry of a private chunk: handled ahead of the time of its locks.
#pragma once

#include "mmu/stage2_map.hpp"
#include "sim/hypervisor/abort.hpp"
#include "sim/hypervisor/fill_port.hpp"

namespace hvsim::hypervisor {

template <class Clock>
inline void vm::mark_own_page(Clock& t, const machine::cpu& c, const abort& a) {
  privacy_.check(*c.thread, access::object::dirty_bitmap, access::use::write, a.address);
  t.advance(engine::part::dirty_log, machine_.costs().dirty_set.mean);
  a.slot.dirty.set(a.slot.page_of(a.address));
}

template <class Clock>
inline void vm::mark_private_dirty(Clock& t, const machine::cpu& c, const abort& a) {
  counters_.add(event::mark_dirty);
  mark_own_page(t, c, a);
}

// user_mem_abort from the lookup of the host page on, between the same lock steps as there. Returns
// the new leaf. `Clock`: engine::thread or engine::local_clock.
template <class Clock>
inline mmu::descriptor vm::fill_private(Clock& t, vcpu::vcpu& v, const fault_state& mine, abort& a,
                                        const host::host_page& page) {
  machine::cpu& c = v.cpu;
  const machine::cost_table& costs = machine_.costs();
  const bool read_side = sw_.mmu_lock == lock_kind::rwlock && sw_.fault_side == lock_side::read;
  const bool shared = read_side && sw_.tables.walker != mmu::walker_flavour::exclusive;
  const bool write = a.what.write;
  ++private_faults_;
  counters_.add(event::gup);
  const engine::sim_time looked_up = t.now();
  t.advance(engine::part::fault_software, costs.vma_lookup.mean);
  if (sw_.mmap_lock) t.turn_back(looked_up);  // a step of its own

  const engine::hva address = a.slot.to_hva(a.address);
  const std::uint64_t in_page = address.value() & ((std::uint64_t{1} << page.page_shift) - 1);
  mmu::stage2_attributes prot;
  prot.write = write;
  prot.execute = machine_.features().dic;
  prot.fwb = sw_.tables.fwb;
  const mmu::descriptor leaf = mmu::make_stage2_leaf(
      engine::pa{(page.first.value() + (in_page >> 12)) << 12}, mmu::level::l3, prot);
  const engine::sim_time locked = t.now();
  t.advance(engine::part::fault_software, costs.fault_locked.draw(c.random));
  const engine::sim_time since = t.now();
  if (shared) rcu_.read_lock(c);
  counters_.add(sized_event::s2_map, page_size);
  fill_port<Clock> port(*this, c, t);
  const mmu::stage2_result result =
      mmu::fill_page_below(port, s2_, s2_.entry(mine.l3, mmu::level::l3, a.address), leaf, shared);
  counters_.add(result_event::s2_map, outcome_of(result));
  if (shared) rcu_.read_unlock(c, t.now() - since);
  if (write && sw_.dirty_inside_lock) mark_private_dirty(t, c, a);
  const engine::duration under_lock = t.now() - locked;
  t.turn_back(locked);
  v.batch.add(fault_steps_, locked, v.trapped, under_lock);
  if (write && !sw_.dirty_inside_lock) mark_private_dirty(t, c, a);
  a.action = write ? fault_action::map_page : fault_action::map_page_ro;
  return leaf;
}

}  // namespace hvsim::hypervisor
