// SPDX-License-Identifier: Apache-2.0
// Private faults one after another: the abort handler with everything looked up once that is the
// same for all of them.
#include "sim/engine/local_clock.hpp"
#include "sim/hypervisor/private_fault.hpp"
#include "vcpu/page_run.hpp"

namespace hvsim::hypervisor {

// Whether everything that the fault does between its lock steps is this vCPU's business alone: it
// fills an empty entry of a level 3 table of a private chunk.
bool vm::fills_private_entry(const fault_state& mine, const abort& a) const {
  const std::uint64_t chunk = a.address.value() >> access::privacy_map::chunk_shift;
  return a.is_private && mine.chunk == chunk && mine.epoch == structure_epoch_ &&
         a.what.lvl == mmu::level::l3 && !a.what.permission && !a.what.access_flag &&
         !a.what.exec && a.logging && (a.slot.base.value() & (block_size.value() - 1)) == 0 &&
         config_.vgic && may_work_ahead &&
         *s2_.entry(mine.l3, mmu::level::l3, a.address).where == mmu::descriptor{};
}

void vm::handle_run(vcpu::vcpu& v, vcpu::page_run& run) {
  fault_state& mine = faulting_[v.id().value()];
  const decoded_abort& what = mine.last;
  memslot* const slot = find_slot(run.ipa());
  if (what.esr != run.esr().esr() || slot == nullptr || what.slot != slot->id || on_abort) return;
  abort a{run.ipa(), *slot, what, privacy_.private_to(v.id(), run.ipa()), slot->logging};
  if (!fills_private_entry(mine, a) || mine.cache.pages < s2_.geometry.memcache_min()) return;

  machine::cpu& c = v.cpu;
  const machine::cost_table& costs = machine_.costs();
  engine::local_clock t(*c.thread);
  run.limit((slot->base + slot->size - run.ipa()).value() / page_size.value());
  host::host_page page{};
  engine::hva page_end{};
  while (run.aborts()) {
    a.address = run.ipa();
    const engine::hva address = slot->to_hva(a.address);
    if (address >= page_end) {
      const std::optional<host::host_page> found = mm_.lookup(slot->vma, address);
      if (!found) [[unlikely]]
        break;
      page = *found;
      page_end =
          address.align_down(page.page_shift) + engine::bytes{std::uint64_t{1} << page.page_shift};
    }
    run.trap(t);
    srcu_.read_lock(c);
    ++faults_;
    t.advance(engine::part::fault_software, costs.fault_software.draw(c.random));
    const mmu::descriptor leaf = fill_private(t, v, mine, a, page);
    counters_.add_fault(what.counted_as, a.action);
    counters_.add(event::abort_to_guest);
    srcu_.read_unlock_ahead(c);
    run.resume(t, leaf);
  }
  t.end();
}

}  // namespace hvsim::hypervisor
