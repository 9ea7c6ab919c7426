// SPDX-License-Identifier: Apache-2.0
#include "sim/hypervisor/vm.hpp"

#include <algorithm>
#include <stdexcept>

#include "sim/hypervisor/table_port.hpp"

namespace hvsim::hypervisor {

namespace {
// One batch of stage2_apply_range: the largest block (1 GiB with 4 KiB pages) since Linux 6.1.
constexpr unsigned batch_shift = 30;
}  // namespace

vm::vm(engine::engine& e, machine::machine& m, host::mm& process, mmu::table_memory& tables,
       const switches& sw, const vm_config& config)
    : engine_(e),
      machine_(m),
      mm_(process),
      memory_(tables),
      sw_(sw),
      config_(config),
      spinlock_(m, "mmu_lock", engine::part::mmu_lock_line, engine::part::mmu_lock_wait),
      rwlock_(m, "mmu_lock", engine::part::mmu_lock_line, engine::part::mmu_lock_wait),
      rcu_(e, m, engine::core_id{m.shape().cores() - 1}),
      faulting_(config.vcpus),
      fault_steps_(srcu_) {
  sw_.tables.fwb = m.features().fwb;
  sw_.tables.dic = m.features().dic;
  sw_.tables.tlb_range = sw_.flush_by_range && m.features().tlbi_range;
  s2_ = mmu::make_stage2(tables, config.ipa_bits, sw_.tables);
  if (sw_.mmap_lock)
    fault_steps_.add_shared(process.mmap_lock().read_side(), false, m.costs().vma_lookup.mean);
  if (sw_.mmu_lock == lock_kind::spinlock) {
    fault_steps_.add_section(spinlock_.side());
  } else if (sw_.fault_side == lock_side::read) {
    fault_steps_.add_shared(rwlock_.read_side(), true, {});
  } else {
    fault_steps_.add_section(rwlock_.write_side());
  }
}

vm::~vm() = default;

const memslot* vm::slot(std::uint32_t id) const {
  for (const auto& s : slots_)
    if (s->id == id) return s.get();
  return nullptr;
}

void vm::create_slot(machine::cpu& c, std::uint32_t id, engine::ipa base, engine::bytes size,
                     engine::hva host, std::size_t vma) {
  counters_.add(event::set_memory_region);
  c.thread->advance(engine::part::ioctl, machine_.costs().ioctl_base.mean);
  auto s = std::make_unique<memslot>();
  s->id = id;
  s->base = base;
  s->size = size;
  s->host = host;
  s->vma = vma;
  slots_.push_back(std::move(s));
  // The busiest slot first: KVM remembers the slot of the last fault.
  std::stable_sort(slots_.begin(), slots_.end(),
                   [](const auto& a, const auto& b) { return a->size > b->size; });
}

void vm::delete_slot(machine::cpu& c, std::uint32_t id) {
  counters_.add(event::set_memory_region);
  c.thread->advance(engine::part::ioctl, machine_.costs().ioctl_base.mean);
  const auto it =
      std::find_if(slots_.begin(), slots_.end(), [id](const auto& s) { return s->id == id; });
  if (it == slots_.end()) throw std::logic_error("deleting a memslot that does not exist");
  // First nobody finds the slot any more, then its memory is unmapped (kvm_invalidate_memslot).
  const std::unique_ptr<memslot> slot = std::move(*it);
  slots_.erase(it);
  srcu_.synchronize(c, engine::part::ioctl);
  counters_.add(sized_event::s2_unmap, slot->size);
  lock_write(c);
  unmap_range(c, slot->base, slot->size);
  unlock_write(c);
}

void vm::unmap_range(machine::cpu& c, engine::ipa at, engine::bytes size) {
  ++structure_epoch_;
  table_port port(*this, c, nullptr, nullptr, false);
  const engine::ipa end = at + size;
  while (at < end) {
    const engine::ipa next = at.align_down(batch_shift) + engine::gibibytes(1);
    const engine::ipa stop = std::min(next, end);
    mmu::unmap(port, s2_, at, stop - at);
    at = stop;
  }
}

void vm::expect_nobody_ahead() const {
  if (private_faults_ != 0)
    throw std::logic_error("an MMU notifier while faults are handled ahead (may_work_ahead)");
}

template <class F>
void vm::in_slots(engine::hva begin, engine::bytes size, F&& f) const {
  for (const auto& s : slots_) {
    const engine::hva from = std::max(begin, s->host);
    const engine::hva to = std::min(begin + size, s->host + s->size);
    if (from < to) f(s->base + (from - s->host), to - from);
  }
}

void vm::notifier_unmap(machine::cpu& c, engine::hva begin, engine::bytes size) {
  expect_nobody_ahead();
  counters_.add(event::unmap_gfn);
  lock_write(c);
  ++notifiers_in_progress_;
  in_slots(begin, size, [&](engine::ipa at, engine::bytes n) { unmap_range(c, at, n); });
  ++notifier_seq_;
  --notifiers_in_progress_;
  unlock_write(c);
}

bool vm::notifier_age(machine::cpu& c, engine::hva begin, engine::bytes size) {
  expect_nobody_ahead();
  bool young = false;
  lock_write(c);
  table_port port(*this, c, nullptr, nullptr, false);
  in_slots(begin, size, [&](engine::ipa at, engine::bytes n) {
    young |= mmu::test_clear_young(port, s2_, at, n, true);
  });
  if (young) port.tlbi_vmid();
  unlock_write(c);
  return young;
}

void vm::destroy(machine::cpu& c) {
  rcu_.barrier(c, engine::part::ioctl);
  table_port port(*this, c, nullptr, nullptr, false);
  mmu::destroy(port, s2_);
}

void vm::lock_write(machine::cpu& c) {
  if (sw_.mmu_lock == lock_kind::spinlock) {
    spinlock_.lock(c);
  } else {
    rwlock_.write_lock(c);
  }
}

void vm::unlock_write(machine::cpu& c) {
  if (sw_.mmu_lock == lock_kind::spinlock) {
    spinlock_.unlock(c);
  } else {
    rwlock_.write_unlock(c);
  }
}

std::vector<const sync::lock_stats*> vm::lock_statistics() const {
  std::vector<const sync::lock_stats*> all;
  if (sw_.mmu_lock == lock_kind::spinlock)
    all = {&spinlock_.stats()};
  else
    all = {&rwlock_.read_stats(), &rwlock_.write_stats()};
  all.insert(all.end(), {&mm_.mmap_lock().read_stats(), &srcu_.stats(), &rcu_.section_stats(),
                         &rcu_.callback_stats()});
  return all;
}

engine::bytes vm::bookkeeping_bytes() const {
  engine::bytes n;
  for (const auto& s : slots_) n = n + s->dirty.size();
  return n;
}

}  // namespace hvsim::hypervisor
