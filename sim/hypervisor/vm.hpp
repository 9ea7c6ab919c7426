// SPDX-License-Identifier: Apache-2.0
// One virtual machine in KVM: memslots, stage-2 tables, locks, the abort handler, the dirty log.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "mmu/stage2.hpp"
#include "sim/access/privacy.hpp"
#include "sim/engine/engine.hpp"
#include "sim/host/mm.hpp"
#include "sim/hypervisor/counters.hpp"
#include "sim/hypervisor/memslot.hpp"
#include "sim/hypervisor/switches.hpp"
#include "sim/machine/machine.hpp"
#include "sim/sync/locks.hpp"
#include "sim/sync/rcu.hpp"
#include "sim/sync/srcu.hpp"
#include "vcpu/vcpu.hpp"

namespace hvsim::hypervisor {

struct vm_config {
  std::uint32_t vcpus = 1;
  unsigned ipa_bits = 48;
  bool vgic = true;  ///< in-kernel interrupt controller
  /// Documented correction of one published column (see docs/model.md); zero everywhere else.
  engine::duration extra_locked_per_block{};
};

/// Pages kept for tables by one vCPU or by the eager splitter (kvm_mmu_memory_cache).
struct memcache {
  std::uint32_t pages = 0;
};

/// What an abort is. Kept for the next one, which most often is of the same kind.
struct decoded_abort {
  static constexpr std::uint32_t not_looked_up = ~std::uint32_t{0};
  static constexpr std::uint32_t no_slot = not_looked_up - 1;
  std::uint64_t esr = 0;               ///< 0: nothing decoded yet; no abort has this value
  std::uint32_t slot = not_looked_up;  ///< memslot for which `counted_as` holds
  std::uint16_t counted_as = 0;        ///< row of the counts
  mmu::level lvl{};
  bool permission = false;
  bool access_flag = false;
  bool write = false;  ///< kvm_is_write_fault, with its rule for S1PTW
  bool exec = false;
  bool hpfar_valid = false;
};

/// What KVM keeps for one vCPU in the fault path, and what the model remembers for it.
struct alignas(64) fault_state {
  memcache cache;
  /// Level 3 table of the private chunk of the last fault; valid while `epoch` is the VM's.
  std::uint64_t chunk = ~std::uint64_t{0};
  mmu::table_page* l3 = nullptr;
  std::uint64_t epoch = 0;
  decoded_abort last;
};

class table_port;

/// See the head of this file. All calls come from fibers of one engine; vCPU fibers call
/// handle_abort, the main thread's fiber calls the ioctls.
class vm final : public vcpu::hypervisor {
 public:
  /// Capacity to which a vCPU's cache is refilled (KVM_ARCH_NR_OBJS_PER_MEMORY_CACHE).
  static constexpr std::uint32_t memcache_capacity = 40;

  vm(engine::engine& e, machine::machine& m, host::mm& process, mmu::table_memory& tables,
     const switches& sw, const vm_config& config);
  ~vm() override;

  // KVM_SET_USER_MEMORY_REGION in its four uses.
  void create_slot(machine::cpu& c, std::uint32_t id, engine::ipa base, engine::bytes size,
                   engine::hva host, std::size_t vma);
  /// `initially_set`: KVM_DIRTY_LOG_INITIALLY_SET, all bits start as ones and nothing is protected.
  void enable_logging(machine::cpu& c, std::uint32_t id, bool initially_set);
  void disable_logging(machine::cpu& c, std::uint32_t id);
  void delete_slot(machine::cpu& c, std::uint32_t id);

  /// KVM_GET_DIRTY_LOG. With manual protection it only copies; otherwise it also clears and
  /// write-protects. Returns the number of dirty pages.
  std::uint64_t get_dirty_log(machine::cpu& c, std::uint32_t id, bool manual_protect);
  /// KVM_CLEAR_DIRTY_LOG of the whole slot with the bits that the last GET returned.
  /// `initially_set` is the capability: with it, clearing may split eagerly.
  void clear_dirty_log(machine::cpu& c, std::uint32_t id, bool initially_set);

  /// MMU notifier: unmaps a range of host memory from the guest (start and end of one section).
  void notifier_unmap(machine::cpu& c, engine::hva begin, engine::bytes size);
  /// MMU notifier (clear_flush_young, as reclaim calls it): clears the access flags of what the
  /// guest maps of a range of host memory and flushes its TLBs, under mmu_lock, if one was set.
  /// Returns whether one was. Kernels before 6.5 looked at the first leaf of the range alone, which
  /// is the only one unless the guest's mappings are smaller than the host's.
  bool notifier_age(machine::cpu& c, engine::hva begin, engine::bytes size);

  /// Frees the tables after the last vCPU has gone.
  void destroy(machine::cpu& c);

  bool handle_abort(vcpu::vcpu& v, const vcpu::fault_registers& r) override;
  void handle_run(vcpu::vcpu& v, vcpu::page_run& run) override;

  [[nodiscard]] const counters& counts() const { return counters_; }
  [[nodiscard]] const mmu::stage2& tables() const { return s2_; }
  [[nodiscard]] const vcpu::tlbi_log& invalidations() const { return tlbi_log_; }
  [[nodiscard]] access::privacy_map& privacy() { return privacy_; }
  [[nodiscard]] std::vector<const sync::lock_stats*> lock_statistics() const;
  [[nodiscard]] const memslot* slot(std::uint32_t id) const;
  [[nodiscard]] engine::bytes bookkeeping_bytes() const;
  [[nodiscard]] std::uint64_t fault_count() const { return faults_; }

  /// Threads other than vCPUs may take tables away while vCPUs run (set by the main thread around
  /// such ioctls): upper table levels are then read with a sync.
  bool tables_may_vanish = false;
  /// Faults of private chunks are handled ahead of the time of their locks. Clear it before the
  /// vCPUs start if MMU notifiers may come while they run; otherwise the notifiers throw
  /// std::logic_error once a fault was handled so. No chunk may be private then either.
  bool may_work_ahead = true;

  /// Called for every abort with its registers and IPA before it is handled: the ftrace writer.
  std::function<void(const vcpu::vcpu&, const vcpu::fault_registers&, engine::ipa)> on_abort;

 private:
  friend class table_port;
  template <class Clock>
  friend class table_charges;
  template <class Clock>
  friend class fill_port;
  struct abort;

  // The busiest slot comes first.
  memslot* find_slot(engine::ipa a) {
    for (auto& s : slots_)
      if (s->contains(a)) return s.get();
    return nullptr;
  }
  [[nodiscard]] decoded_abort decode(vcpu::syndrome s) const;
  [[gnu::always_inline]] inline bool handle_in_slot(vcpu::vcpu& v, const vcpu::fault_registers& r,
                                                    fault_state& mine, engine::ipa address);
  [[nodiscard]] bool fills_private_entry(const fault_state& mine, const abort& a) const;
  template <class Clock>
  [[gnu::always_inline]] inline mmu::descriptor fill_private(Clock& t, vcpu::vcpu& v,
                                                             const fault_state& mine, abort& a,
                                                             const host::host_page& page);
  template <class Clock>
  [[gnu::always_inline]] inline void mark_private_dirty(Clock& t, const machine::cpu& c,
                                                        const abort& a);
  template <class Clock>
  [[gnu::always_inline]] inline void mark_own_page(Clock& t, const machine::cpu& c, const abort& a);
  [[gnu::always_inline]] inline mmu::stage2_result change_tables(vcpu::vcpu& v, fault_state& mine,
                                                                 abort& a,
                                                                 const host::host_page& page,
                                                                 bool writable, bool read_side);
  [[gnu::always_inline]] inline void user_mem_abort(vcpu::vcpu& v, fault_state& mine, abort& a);
  [[nodiscard]] engine::bytes mapping_size(const abort& a, engine::hva address,
                                           unsigned page_shift) const;
  mmu::stage2_result map_one_page(table_port& port, fault_state& mine, abort& a, engine::pfn frame,
                                  mmu::stage2_attributes prot, bool shared);
  mmu::stage2_result map_block(table_port& port, engine::thread& t, abort& a, engine::bytes size,
                               engine::pfn frame, mmu::stage2_attributes prot, bool shared);
  mmu::stage2_result relax(table_port& port, abort& a, mmu::stage2_attributes prot, bool shared);
  void access_fault(vcpu::vcpu& v, const abort& a);
  void refill(machine::cpu& c, memcache& cache);
  [[gnu::always_inline]] inline void mark_dirty(machine::cpu& c, const abort& a);
  void lock_write(machine::cpu& c);
  void unlock_write(machine::cpu& c);
  void write_protect(machine::cpu& c, const memslot& slot, std::uint64_t first_page,
                     std::uint64_t pages);
  void flush_slot(machine::cpu& c, const memslot& slot);
  /// Checked builds: `t` touches a word of the slot's bitmap now.
  void check_word(const engine::thread& t, const memslot& slot, std::uint64_t word, access::use u);
  void split_huge_pages(machine::cpu& c, const memslot& slot, std::uint64_t first_page,
                        std::uint64_t pages);
  void unmap_range(machine::cpu& c, engine::ipa at, engine::bytes size);
  void expect_nobody_ahead() const;
  /// Calls `f(ipa, bytes)` for what each slot has of a range of host memory.
  template <class F>
  void in_slots(engine::hva begin, engine::bytes size, F&& f) const;

  engine::engine& engine_;
  machine::machine& machine_;
  host::mm& mm_;
  mmu::table_memory& memory_;
  switches sw_;
  vm_config config_;
  mmu::stage2 s2_;
  counters counters_;
  vcpu::tlbi_log tlbi_log_;
  access::privacy_map privacy_;
  sync::qspinlock spinlock_;
  sync::qrwlock rwlock_;
  sync::rcu rcu_;
  sync::srcu srcu_{"srcu"};  // readers of the memslots
  machine::line irq_desc_;
  std::vector<std::unique_ptr<memslot>> slots_;
  std::vector<fault_state> faulting_;  // by vCPU
  std::uint64_t structure_epoch_ = 0;  // goes up when any table may have left the tree
  memcache split_cache_;
  std::uint64_t notifier_seq_ = 0;
  std::uint32_t notifiers_in_progress_ = 0;
  std::uint64_t faults_ = 0;
  std::uint64_t private_faults_ = 0;  // handled ahead
  vcpu::fault_steps fault_steps_;     // of a private fault
};

}  // namespace hvsim::hypervisor
