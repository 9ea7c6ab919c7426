// SPDX-License-Identifier: Apache-2.0
// How the kernel reaches stage-2 tables: charges time, keeps order, counts calls.
#pragma once

#include "mmu/stage2_ops.hpp"
#include "sim/hypervisor/table_charges.hpp"

namespace hvsim::hypervisor {

/// The port of mmu's stage-2 operations for one caller (abort handler, ioctl or RCU callback).
/// Short-lived; belongs to the caller's fiber.
class table_port : public table_charges<engine::thread> {
 public:
  /// `local`: whose TLBs a local invalidation reaches (null: nobody's, an ioctl thread).
  /// `who`: the vCPU for which private chunks need no sync (nullopt: the main thread, which syncs
  /// always; that costs nothing while the vCPUs wait).
  table_port(vm& v, machine::cpu& c, memcache* cache, vcpu::vcpu* local, bool private_chunk)
      : table_charges(v, c, *c.thread),
        watch_(t_.owner().watcher()),
        cache_(cache),
        local_(local),
        private_(private_chunk) {}

  mmu::descriptor load(const mmu::entry_ref& e) {
    if (!private_) {
      // Upper levels are only ever filled while vCPUs run, so a table that is there stays there.
      if (mmu::to_int(e.lvl) <= 1 && !vm_.tables_may_vanish && !t_.owner().exploring()) {
        const mmu::descriptor d = e.in_memory();
        if (d.is_table(e.lvl)) {
          vm_.privacy_.check_read_ahead(t_, e.where);
          return d;
        }
      }
      t_.sync();
    } else if (mmu::to_int(e.lvl) <= 1 && !e.in_memory().is_table(e.lvl)) [[unlikely]] {
      t_.sync();  // an upper entry spans other vCPUs' chunks
    }
    touch(e, access::use::read);
    return e.in_memory();
  }
  void store(const mmu::entry_ref& e, mmu::descriptor d) {
    order(e);
    charge_update();
    e.in_memory() = d;
    changed(e);
  }
  bool compare_exchange(const mmu::entry_ref& e, mmu::descriptor expected,
                        mmu::descriptor desired) {
    order(e, &expected);
    charge_update();
    if (e.in_memory() != expected) return false;
    e.in_memory() = desired;
    changed(e);
    return true;
  }
  mmu::descriptor exchange(const mmu::entry_ref& e, mmu::descriptor desired) {
    order(e);
    charge_update();
    const mmu::descriptor old = e.in_memory();
    e.in_memory() = desired;
    changed(e);
    return old;
  }

  mmu::table_page* alloc_table(mmu::level l) {
    vm_.counters_.add(event::zalloc_tbl);
    if (cache_ == nullptr || cache_->pages == 0) return nullptr;
    --cache_->pages;
    t_.advance(engine::part::allocation, costs().table_alloc.mean);
    return vm_.memory_.alloc(l);
  }
  [[nodiscard]] std::size_t tables_available() const {
    return cache_ == nullptr ? 0 : cache_->pages;
  }
  void free_table(mmu::table_page* p) { vm_.memory_.free(p); }
  void defer_free(mmu::table_page* p, mmu::level l) {
    vm_.rcu_.call(c_, [&v = vm_, p, l](machine::cpu& softirq) {
      table_port port(v, softirq, nullptr, nullptr, false);
      mmu::free_unlinked(port, v.s2_, p, l);
    });
  }
  void defer_put_page(mmu::table_page* p) {
    vm_.rcu_.call(c_, [&v = vm_, p](machine::cpu& softirq) {
      table_port port(v, softirq, nullptr, nullptr, false);
      port.put_page(p);
    });
  }
  void put_page(mmu::table_page* p) {
    vm_.counters_.add(event::put_page);
    vm_.memory_.put(p);
  }

  void tlbi_ipa(engine::ipa at, mmu::level_hint hint) {
    vm_.counters_.add(level_event::tlbi_ipa, recorded(hint));
    invalidate({vcpu::tlbi::scope::ipa, at, {}}, 2);
  }
  void tlbi_ipa_local(engine::ipa at, mmu::level_hint hint) {
    vm_.counters_.add(level_event::tlbi_ipa_nsh, hint);
    invalidate_local({vcpu::tlbi::scope::ipa, at, {}}, 2);
  }
  void tlbi_vmid() {
    vm_.counters_.add(event::tlbi_vmid);
    invalidate({vcpu::tlbi::scope::vmid, {}, {}}, 1);
  }
  void tlbi_range(engine::ipa at, engine::bytes n) {
    vm_.counters_.add(event::tlbi_range);
    invalidate({vcpu::tlbi::scope::range, at, n}, 2);
  }

  void clean_dcache(engine::pa, engine::bytes n) {
    const engine::duration loop = draw_clean_loop(n);
    if (n > engine::kibibytes(64)) {
      vm_.machine_.dram().transfer(t_, engine::part::cache_maintenance, machine::pass::clean, loop);
    } else {
      t_.advance(engine::part::cache_maintenance, loop);
    }
    charge_clean_barrier();
  }
  void relax_cpu() {
    charge_update();
    t_.sync();
  }

  void visit(mmu::level) { t_.advance(engine::part::table_work, costs().table_visit.mean); }
  void put_pte_called() { vm_.counters_.add(event::put_pte); }
  void create_unlinked_called(mmu::level l) { vm_.counters_.add(level_event::create_unlinked, l); }
  void free_unlinked_called(mmu::level l) { vm_.counters_.add(level_event::free_unlinked, l); }
  void split_called(engine::bytes n) { vm_.counters_.add(sized_event::s2_split, n); }

 private:
  /// `expected`: of a compare-and-swap, which may fail.
  void order(const mmu::entry_ref& e, const mmu::descriptor* expected = nullptr) {
    if (!private_ || mmu::to_int(e.lvl) <= 1) t_.sync();
    const bool fails = expected != nullptr && e.in_memory() != *expected;
    touch(e, fails ? access::use::read : access::use::write);
  }

  /// The checks of one access, at its time.
  void touch(const mmu::entry_ref& e, access::use u) {
    mmu::table_memory::check_access(e.table);
    if (mmu::to_int(e.lvl) <= 1 && e.in_memory().is_table(e.lvl)) {
      if (u == access::use::read)
        vm_.privacy_.check_read_ahead(t_, e.where);
      else
        vm_.privacy_.check_removal(t_, e.where, e.ipa);
    } else if (e.table->state != mmu::table_state::detached) {  // else nobody else works on it
      vm_.privacy_.check(t_, access::object::descriptor, u, e.ipa);
    }
  }
  void changed(const mmu::entry_ref& e) const {
    if (watch_ == nullptr) [[likely]]
      return;
    const mmu::granule& g = vm_.s2_.geometry.g;
    watch_->entry_changed(t_, e.ipa.align_down(g.shift(e.lvl)), g.size(e.lvl));
  }

  // The unmap walker of 6.1 passes level 0 where it cannot tell.
  [[nodiscard]] mmu::level_hint recorded(mmu::level_hint hint) const {
    if (hint || vm_.sw_.unmap_level_unknown) return hint;
    return mmu::level::l0;
  }

  static engine::invalidation seen_by_checkers(const vcpu::tlbi& op, bool broadcast) {
    const bool one = op.what == vcpu::tlbi::scope::ipa;
    return {op.at, one ? engine::bytes{1} : op.size, op.what == vcpu::tlbi::scope::vmid, broadcast};
  }
  void invalidate(const vcpu::tlbi& op, int broadcasts) {
    if (!vm_.sw_.tlbi_broadcast) {
      invalidate_local(op, broadcasts);
      return;
    }
    if (watch_ != nullptr) watch_->invalidation_issued(t_, seen_by_checkers(op, true));
    t_.advance(engine::part::tlbi, costs().vmid_switch.mean);
    for (int i = 0; i < broadcasts; ++i) vm_.machine_.tlbi_broadcast(c_);
    vm_.tlbi_log_.push(op);
    if (watch_ != nullptr) watch_->invalidation_completed(t_, seen_by_checkers(op, true));
  }
  void invalidate_local(const vcpu::tlbi& op, int operations) {
    if (watch_ != nullptr) watch_->invalidation_issued(t_, seen_by_checkers(op, false));
    t_.advance(engine::part::tlbi, costs().vmid_switch.mean);
    for (int i = 0; i < operations; ++i) vm_.machine_.tlbi_local(c_);
    if (local_ != nullptr) local_->apply(op);
    if (watch_ != nullptr) watch_->invalidation_completed(t_, seen_by_checkers(op, false));
  }

  engine::observer* watch_;
  memcache* cache_;
  vcpu::vcpu* local_;
  bool private_;
};

}  // namespace hvsim::hypervisor
