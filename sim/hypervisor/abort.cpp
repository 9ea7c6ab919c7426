// SPDX-License-Identifier: Apache-2.0
// The stage-2 abort handler: kvm_handle_guest_abort and user_mem_abort, step by step.
#include "sim/hypervisor/table_port.hpp"
#include "sim/hypervisor/vm.hpp"

namespace hvsim::hypervisor {

namespace {

constexpr engine::bytes page_size = engine::kibibytes(4);
constexpr engine::bytes block_size = engine::mebibytes(2);

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

unsigned outcome_of(mmu::stage2_result r) {
  return r == mmu::stage2_result::ok ? 0 : r == mmu::stage2_result::again ? 1 : 2;
}

}  // namespace

/// One abort on its way through the handler.
struct vm::abort {
  vcpu::syndrome esr;
  engine::ipa address;  ///< the faulting page
  memslot* slot;
  bool write;
  bool is_private;  ///< no other thread can reach the chunk of `address`
  fault_action action = fault_action::none;
  [[nodiscard]] bool permission() const { return esr.status() == mmu::fault_status::permission; }
};

bool vm::handle_abort(vcpu::vcpu& v, const vcpu::fault_registers& r) {
  engine::thread& t = *v.cpu.thread;
  const machine::cost_table& costs = machine_.costs();
  abort a{r.esr, r.hpfar_el2.page(), nullptr, false, false};
  if (!vcpu::hpfar_valid(r.esr)) {
    t.advance(engine::part::fault_software, costs.at_translate.mean);
    const std::optional<engine::ipa> at = v.at_s1e1r(r.far);
    if (!at) return true;
    a.address = at->align_down(12);
  }
  if (!config_.vgic) {
    machine_.read_modify_write(v.cpu, irq_desc_, engine::part::irqchip);
    t.advance(engine::part::irqchip, costs.irqchip_user.draw(v.cpu.random));
  }
  if (on_abort) on_abort(v, r, a.address);
  a.slot = find_slot(a.address);
  const fault_class kind = classify(a.slot, r.esr);
  if (a.slot == nullptr) {
    counters_.add_fault(kind, fault_action::none);
    counters_.add(event::abort_to_userspace);
    t.advance(engine::part::userspace, costs.userspace_exit.draw(v.cpu.random));
    return false;
  }
  ++faults_;
  a.is_private = privacy_.private_to(v.id(), a.address);
  a.write = r.esr.s1ptw() ? sw_.s1ptw_always_write || a.permission() : r.esr.wnr();
  t.advance(engine::part::fault_software, costs.fault_software.draw(v.cpu.random));
  if (r.esr.status() == mmu::fault_status::access_flag) {
    access_fault(v, a);
  } else {
    user_mem_abort(v, a);
  }
  counters_.add_fault(kind, a.action);
  counters_.add(event::abort_to_guest);
  return true;
}

void vm::access_fault(vcpu::vcpu& v, const abort& a) {
  const bool shared = sw_.access_fault_side == lock_side::read;
  table_port port(*this, v.cpu, nullptr, &v, a.is_private);
  if (shared) {
    rwlock_.read_lock(v.cpu);
    const engine::sim_time since = v.cpu.thread->now();
    (void)mmu::mkyoung(port, s2_, a.address, true);
    rwlock_.read_unlock(v.cpu, since);
  } else {
    lock_write(v.cpu);
    (void)mmu::mkyoung(port, s2_, a.address, false);
    unlock_write(v.cpu);
  }
}

void vm::refill(vcpu::vcpu& v, memcache& cache) {
  if (cache.pages >= s2_.geometry.memcache_min()) return;
  v.cpu.thread->advance(engine::part::allocation,
                        machine_.costs().page_refill.draw(v.cpu.random) *
                            static_cast<std::int64_t>(memcache_capacity - cache.pages));
  cache.pages = memcache_capacity;
}

void vm::mark_dirty(vcpu::vcpu& v, memslot& slot, engine::ipa at, bool is_private) {
  counters_.add(event::mark_dirty);
  if (!slot.logging) return;
  const std::uint64_t page = slot.page_of(at);
  // A private chunk's bits fill a line of their own only if slot and chunk are aligned alike.
  const bool own_line = is_private && (slot.base.value() & (block_size.value() - 1)) == 0;
  if (own_line) {
    v.cpu.thread->advance(engine::part::dirty_log, machine_.costs().dirty_set.mean);
  } else {
    machine_.read_modify_write(v.cpu, slot.dirty.line_of(page), engine::part::dirty_log);
    // Logging was switched off meanwhile: the old bitmap lives until this handler returns (SRCU),
    // but nobody will read it.
    if (!slot.dirty.allocated()) return;
  }
  slot.dirty.set(page);
}

void vm::user_mem_abort(vcpu::vcpu& v, abort& a) {
  machine::cpu& c = v.cpu;
  engine::thread& t = *c.thread;
  const machine::cost_table& costs = machine_.costs();
  memslot& slot = *a.slot;
  const bool permission = a.permission();
  const engine::bytes granule = s2_.geometry.g.size(a.esr.lvl());
  const bool logging = slot.logging;
  const bool exec = a.esr.is_exec();

  fault_state& mine = faulting_[v.id().value()];
  memcache& cache = mine.cache;
  if (!permission || (logging && a.write)) refill(v, cache);

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
  const engine::hva address = slot.to_hva(a.address);
  std::optional<host::host_page> page = mm_.lookup(slot.vma, address);
  if (!page) page = mm_.fault_in(c, slot.vma, address, sw_.mmap_lock);
  machine::line& page_ref = slot.page_refs[(a.address.value() >> 21) - (slot.base.value() >> 21)];
  if (!a.is_private) machine_.read_modify_write(c, page_ref, engine::part::fault_software);
  const bool writable = a.write || !logging;
  const engine::pfn frame{page->first.value() +
                          ((address.value() & ((std::uint64_t{1} << page->page_shift) - 1)) >> 12)};

  const bool spin = sw_.mmu_lock == lock_kind::spinlock;
  const bool read_side =
      !spin &&
      (sw_.fault_side == lock_side::read ||
       (sw_.permission_fast_path && logging && permission && a.write && granule == page_size));
  if (read_side) {
    rwlock_.read_lock(c);
  } else {
    lock_write(c);
  }
  const engine::sim_time since = t.now();
  mmu::stage2_result result = mmu::stage2_result::again;
  if (seq == notifier_seq_ && notifiers_in_progress_ == 0) {
    t.advance(engine::part::fault_software, costs.fault_locked.draw(c.random));
    engine::bytes size = page_size;
    if (!logging) {
      const std::uint64_t inside = block_size.value() - 1;
      const engine::ipa block = a.address.align_down(21);
      const bool congruent = (address.value() & inside) == (a.address.value() & inside) &&
                             block >= slot.base && slot.contains(block) &&
                             slot.contains(block + engine::bytes{inside});
      if (permission && granule > page_size) {
        size = granule;
      } else if (page->page_shift == 21 && congruent) {
        size = block_size;
      }
    }
    mmu::stage2_attributes prot;
    prot.write = writable;
    prot.execute = exec || machine_.features().dic;
    const bool shared = read_side && sw_.tables.walker != mmu::walker_flavour::exclusive;
    if (shared) rcu_.read_lock(c);
    table_port port(*this, c, &cache, &v, a.is_private);
    if (permission && size == granule) {
      counters_.add(event::s2_relax);
      result = mmu::relax_perms(port, s2_, a.address, prot, shared);
      counters_.add(result_event::s2_relax, outcome_of(result));
      a.action = fault_action::relax;
    } else {
      const bool block = size > page_size;
      const std::uint64_t offset = block ? frame.value() & 511 : 0;
      counters_.add(sized_event::s2_map, size);
      const engine::pa to{(frame.value() - offset) << 12};
      const std::uint64_t chunk = a.address.value() >> access::privacy_map::chunk_shift;
      if (!block && a.is_private && mine.chunk == chunk && mine.epoch == structure_epoch_) {
        result = mmu::map_page_below(port, s2_, mine.l3, a.address, to, prot, shared);
      } else {
        if (block) ++structure_epoch_;
        result = mmu::map(port, s2_, a.address.align_down(block ? 21 : 12), size, to, prot, shared);
        if (!block && a.is_private) {
          mine.l3 = mmu::peek_l3_table(s2_, a.address);
          mine.chunk = mine.l3 == nullptr ? ~std::uint64_t{0} : chunk;
          mine.epoch = structure_epoch_;
        }
      }
      counters_.add(result_event::s2_map, outcome_of(result));
      if (block) t.advance(engine::part::startup_offset, config_.extra_locked_per_block);
      a.action = block ? (writable ? fault_action::map_block : fault_action::map_block_ro)
                       : (writable ? fault_action::map_page : fault_action::map_page_ro);
    }
    if (shared) rcu_.read_unlock(c);
  }
  const bool dirty = writable && result == mmu::stage2_result::ok;
  if (dirty && sw_.dirty_inside_lock) mark_dirty(v, slot, a.address, a.is_private);
  if (read_side) {
    rwlock_.read_unlock(c, since);
  } else {
    unlock_write(c);
  }
  if (dirty && !sw_.dirty_inside_lock) mark_dirty(v, slot, a.address, a.is_private);
  if (!a.is_private) machine_.read_modify_write(c, page_ref, engine::part::fault_software);
}

}  // namespace hvsim::hypervisor
