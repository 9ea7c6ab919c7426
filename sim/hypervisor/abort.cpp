// SPDX-License-Identifier: Apache-2.0
// The stage-2 abort handler: kvm_handle_guest_abort and user_mem_abort, step by step.
#include "sim/hypervisor/abort.hpp"
#include "sim/hypervisor/private_fault.hpp"
#include "sim/hypervisor/table_port.hpp"

namespace hvsim::hypervisor {

namespace {

fault_class classify(const memslot* slot, vcpu::syndrome s) {
  const fault_place place = slot == nullptr ? fault_place::none
                            : slot->id == 0 ? fault_place::slot0
                                            : fault_place::test;
  const fault_access access = s.is_instruction_abort() ? fault_access::instruction
                              : s.wnr()                ? fault_access::data_write
                                                       : fault_access::data_read;
  const fault_status status =
      s.status() == mmu::fault_status::translation   ? fault_status::translation
      : s.status() == mmu::fault_status::permission  ? fault_status::permission
      : s.status() == mmu::fault_status::access_flag ? fault_status::access_flag
                                                     : fault_status::other;
  return {place, access, s.s1ptw(), status, static_cast<std::uint8_t>(mmu::to_int(s.lvl()))};
}

}  // namespace

decoded_abort vm::decode(vcpu::syndrome s) const {
  decoded_abort d;
  d.esr = s.esr();
  d.lvl = s.lvl();
  d.permission = s.status() == mmu::fault_status::permission;
  d.access_flag = s.status() == mmu::fault_status::access_flag;
  d.write = s.s1ptw() ? sw_.s1ptw_always_write || d.permission : s.wnr();
  d.exec = s.is_exec();
  d.hpfar_valid = vcpu::hpfar_valid(s);
  return d;
}

bool vm::handle_abort(vcpu::vcpu& v, const vcpu::fault_registers& r) {
  machine::cpu& c = v.cpu;
  engine::thread& t = *c.thread;
  const machine::cost_table& costs = machine_.costs();
  fault_state& mine = faulting_[v.id().value()];
  decoded_abort& what = mine.last;
  if (what.esr != r.esr.esr()) [[unlikely]]
    what = decode(r.esr);
  engine::ipa address = r.hpfar_el2.page();
  // Everything that the way to user_mem_abort does for others to see.
  if (!what.hpfar_valid || !config_.vgic) [[unlikely]]
    v.end_private_run();
  if (!what.hpfar_valid) {
    t.advance(engine::part::fault_software, costs.at_translate.mean);
    const std::optional<engine::ipa> at = v.at_s1e1r(r.far);
    if (!at) return true;
    address = at->align_down(12);
  }
  if (!config_.vgic) {
    machine_.read_modify_write(c, irq_desc_, engine::part::irqchip);
    t.advance(engine::part::irqchip, costs.irqchip_user.draw(c.random));
  }
  if (on_abort) [[unlikely]]
    on_abort(v, r, address);
  if (handle_in_slot(v, r, mine, address)) return true;
  t.advance(engine::part::userspace, costs.userspace_exit.draw(c.random));
  return false;
}

// What the handler does with the memslots in hand. False: no slot is there, the VMM has to act.
inline bool vm::handle_in_slot(vcpu::vcpu& v, const vcpu::fault_registers& r, fault_state& mine,
                               engine::ipa address) {
  const srcu_section reading(srcu_, v);
  engine::thread& t = *v.cpu.thread;
  decoded_abort& what = mine.last;
  memslot* const slot = find_slot(address);
  const std::uint32_t id = slot == nullptr ? decoded_abort::no_slot : slot->id;
  if (what.slot != id) [[unlikely]] {
    what.slot = id;
    what.counted_as = static_cast<std::uint16_t>(counters::row_of(classify(slot, r.esr)));
  }
  if (slot == nullptr) [[unlikely]] {
    v.end_private_run();
    counters_.add_fault(what.counted_as, fault_action::none);
    counters_.add(event::abort_to_userspace);
    return false;
  }
  ++faults_;
  abort a{address, *slot, what, privacy_.private_to(v.id(), address), slot->logging};
  t.advance(engine::part::fault_software, machine_.costs().fault_software.draw(v.cpu.random));
  if (what.access_flag) [[unlikely]] {
    v.end_private_run();
    access_fault(v, a);
  } else {
    user_mem_abort(v, mine, a);
  }
  counters_.add_fault(what.counted_as, a.action);
  counters_.add(event::abort_to_guest);
  return true;
}

void vm::access_fault(vcpu::vcpu& v, const abort& a) {
  const bool shared = sw_.access_fault_side == lock_side::read;
  const auto make_young = [&] {
    table_port port(*this, v.cpu, nullptr, &v, a.is_private);
    (void)mmu::mkyoung(port, s2_, a.address, shared);
  };
  if (shared) {
    rwlock_.read_lock(v.cpu);
    const engine::sim_time since = v.cpu.thread->now();
    make_young();
    rwlock_.read_unlock(v.cpu, since);
  } else {
    lock_write(v.cpu);
    make_young();
    unlock_write(v.cpu);
  }
}

void vm::refill(machine::cpu& c, memcache& cache) {
  c.thread->advance(engine::part::allocation,
                    machine_.costs().page_refill.draw(c.random) *
                        static_cast<std::int64_t>(memcache_capacity - cache.pages));
  cache.pages = memcache_capacity;
}

inline void vm::mark_dirty(machine::cpu& c, const abort& a) {
  counters_.add(event::mark_dirty);
  if (!a.logging) return;
  memslot& slot = a.slot;
  // A private chunk's bits fill a line of their own only if slot and chunk are aligned alike.
  const bool own_line = a.is_private && (slot.base.value() & (block_size.value() - 1)) == 0;
  if (own_line) {
    mark_own_page(*c.thread, c, a);
    return;
  }
  c.thread->sync();
  privacy_.check(*c.thread, access::object::dirty_bitmap, access::use::write, a.address);
  const std::uint64_t page = slot.page_of(a.address);
  machine_.take_line(c, slot.dirty.line_of(page), engine::part::dirty_log);
  slot.dirty.set(page);
}

engine::bytes vm::mapping_size(const abort& a, engine::hva address, unsigned page_shift) const {
  const memslot& slot = a.slot;
  const engine::bytes faulted = s2_.geometry.g.size(a.what.lvl);
  if (a.what.permission && faulted > page_size) return faulted;
  const std::uint64_t inside = block_size.value() - 1;
  const engine::ipa block = a.address.align_down(21);
  const bool congruent = (address.value() & inside) == (a.address.value() & inside) &&
                         block >= slot.base && slot.contains(block) &&
                         slot.contains(block + engine::bytes{inside});
  return page_shift == 21 && congruent ? block_size : page_size;
}

[[gnu::noinline]] mmu::stage2_result vm::relax(table_port& port, abort& a,
                                               mmu::stage2_attributes prot, bool shared) {
  counters_.add(event::s2_relax);
  const mmu::stage2_result result = mmu::relax_perms(port, s2_, a.address, prot, shared);
  counters_.add(result_event::s2_relax, outcome_of(result));
  a.action = fault_action::relax;
  return result;
}

[[gnu::noinline]] mmu::stage2_result vm::map_block(table_port& port, engine::thread& t, abort& a,
                                                   engine::bytes size, engine::pfn frame,
                                                   mmu::stage2_attributes prot, bool shared) {
  counters_.add(sized_event::s2_map, size);
  ++structure_epoch_;
  const engine::pa to{(frame.value() & ~std::uint64_t{511}) << 12};
  const mmu::stage2_result result =
      mmu::map(port, s2_, a.address.align_down(21), size, to, prot, shared);
  counters_.add(result_event::s2_map, outcome_of(result));
  t.advance(engine::part::startup_offset, config_.extra_locked_per_block);
  a.action = prot.write ? fault_action::map_block : fault_action::map_block_ro;
  return result;
}

[[gnu::noinline]] mmu::stage2_result vm::map_one_page(table_port& port, fault_state& mine, abort& a,
                                                      engine::pfn frame,
                                                      mmu::stage2_attributes prot, bool shared) {
  counters_.add(sized_event::s2_map, page_size);
  const engine::pa to{frame.value() << 12};
  const std::uint64_t chunk = a.address.value() >> access::privacy_map::chunk_shift;
  mmu::stage2_result result;
  if (a.is_private && mine.chunk == chunk && mine.epoch == structure_epoch_) [[likely]] {
    result = mmu::map_page_below(port, s2_, mine.l3, a.address, to, prot, shared);
  } else {
    result = mmu::map(port, s2_, a.address.align_down(12), page_size, to, prot, shared);
    if (a.is_private) {
      mine.l3 = mmu::peek_l3_table(s2_, a.address);
      mine.chunk = mine.l3 == nullptr ? ~std::uint64_t{0} : chunk;
      mine.epoch = structure_epoch_;
    }
  }
  counters_.add(result_event::s2_map, outcome_of(result));
  a.action = prot.write ? fault_action::map_page : fault_action::map_page_ro;
  return result;
}

// What a fault does to the tables, under mmu_lock and with the notifier sequence unchanged.
inline mmu::stage2_result vm::change_tables(vcpu::vcpu& v, fault_state& mine, abort& a,
                                            const host::host_page& page, bool writable,
                                            bool read_side) {
  machine::cpu& c = v.cpu;
  engine::thread& t = *c.thread;
  const decoded_abort& what = a.what;
  t.advance(engine::part::fault_software, machine_.costs().fault_locked.draw(c.random));
  const engine::hva address = a.slot.to_hva(a.address);
  const engine::pfn frame{page.first.value() +
                          ((address.value() & ((std::uint64_t{1} << page.page_shift) - 1)) >> 12)};
  const engine::bytes size = a.slot.logging ? page_size : mapping_size(a, address, page.page_shift);
  mmu::stage2_attributes prot;
  prot.write = writable;
  prot.execute = what.exec || machine_.features().dic;
  const bool shared = read_side && sw_.tables.walker != mmu::walker_flavour::exclusive;
  mmu::stage2_result result{};
  const engine::sim_time since = t.now();
  if (shared) rcu_.read_lock(c);
  {
    table_port port(*this, c, &mine.cache, &v, a.is_private);
    if (what.permission && size == s2_.geometry.g.size(what.lvl)) {
      result = relax(port, a, prot, shared);
    } else if (size > page_size) {
      result = map_block(port, t, a, size, frame, prot, shared);
    } else {
      result = map_one_page(port, mine, a, frame, prot, shared);
    }
  }
  if (shared) rcu_.read_unlock(c, t.now() - since);
  return result;
}

inline void vm::user_mem_abort(vcpu::vcpu& v, fault_state& mine, abort& a) {
  machine::cpu& c = v.cpu;
  engine::thread& t = *c.thread;
  const machine::cost_table& costs = machine_.costs();
  memslot& slot = a.slot;
  const decoded_abort& what = a.what;
  const bool logging = a.logging;
  if (mine.cache.pages < s2_.geometry.memcache_min() &&
      (!what.permission || (logging && what.write))) [[unlikely]]
    refill(c, mine.cache);

  const engine::hva address = slot.to_hva(a.address);
  std::optional<host::host_page> page = mm_.lookup(slot.vma, address);
  if (page && fills_private_entry(mine, a)) [[likely]] {
    v.count_private_fault();
    // Whoever watches sees the steps in order.
    if (t.owner().watcher() == nullptr && !on_abort) [[likely]] {
      (void)fill_private(t, v, mine, a, *page);
      return;
    }
  } else {
    v.end_private_run();
  }

  std::uint64_t seq = 0;
  if (sw_.mmap_lock) {
    mm_.mmap_lock().down_read(c);
    const engine::sim_time since = t.now();
    t.advance(engine::part::fault_software, costs.vma_lookup.mean);
    if (sw_.seq_before_unlock) seq = notifier_seq_;
    mm_.mmap_lock().up_read(c, since);
  } else {
    t.advance(engine::part::fault_software, costs.vma_lookup.mean);
  }
  if (!sw_.seq_before_unlock || !sw_.mmap_lock) seq = notifier_seq_;

  counters_.add(event::gup);
  page = mm_.lookup(slot.vma, address);
  if (!page) [[unlikely]]
    page = mm_.fault_in(c, slot.vma, address, sw_.mmap_lock);
  const auto touch_page_count = [&] {
    if (!a.is_private) t.sync();
    privacy_.check(t, access::object::page_reference, access::use::write, a.address);
    if (a.is_private) return;
    machine_.take_line(c, mm_.reference_count(*page), engine::part::fault_software);
  };
  touch_page_count();

  const bool read_side = sw_.mmu_lock == lock_kind::rwlock &&
                         (sw_.fault_side == lock_side::read ||
                          (sw_.permission_fast_path && logging && what.permission && what.write &&
                           what.lvl == mmu::level::l3));
  if (read_side) {
    rwlock_.read_lock(c);
  } else {
    lock_write(c);
  }
  const engine::sim_time since = t.now();
  mmu::stage2_result result = mmu::stage2_result::again;
  const bool writable = what.write || !logging;
  if (seq == notifier_seq_ && notifiers_in_progress_ == 0) [[likely]]
    result = change_tables(v, mine, a, *page, writable, read_side);
  const bool dirty = writable && result == mmu::stage2_result::ok;
  if (dirty && sw_.dirty_inside_lock) mark_dirty(c, a);
  if (read_side) {
    rwlock_.read_unlock(c, since);
  } else {
    unlock_write(c);
  }
  if (dirty && !sw_.dirty_inside_lock) mark_dirty(c, a);
  touch_page_count();
}

}  // namespace hvsim::hypervisor
