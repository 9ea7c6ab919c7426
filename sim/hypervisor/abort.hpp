// SPDX-License-Identifier: Apache-2.0
// What the parts of the abort handler share.
#pragma once

#include "sim/hypervisor/vm.hpp"

namespace hvsim::hypervisor {

inline constexpr engine::bytes page_size = engine::kibibytes(4);
inline constexpr engine::bytes block_size = engine::mebibytes(2);

/// The SRCU read-side section of one abort.
class srcu_section {
 public:
  srcu_section(sync::srcu& s, const vcpu::vcpu& v)
      : srcu_(s), vcpu_(v), after_trap_(v.cpu.thread->now() - v.trapped) {
    srcu_.read_lock(v.cpu);
  }
  srcu_section(const srcu_section&) = delete;
  srcu_section& operator=(const srcu_section&) = delete;
  ~srcu_section() {
    const machine::cpu& c = vcpu_.cpu;
    // What has not been drained ends with this abort.
    if (vcpu_.batch.empty())
      srcu_.read_unlock(c, c.thread->now() - vcpu_.trapped - after_trap_);
    else
      srcu_.read_unlock_ahead(c);
  }

 private:
  sync::srcu& srcu_;
  const vcpu::vcpu& vcpu_;
  engine::duration after_trap_;  // the section's beginning; draining a batch moves both
};

/// As counters::add takes the outcome of an operation.
constexpr unsigned outcome_of(mmu::stage2_result r) {
  return r == mmu::stage2_result::ok ? 0 : r == mmu::stage2_result::again ? 1 : 2;
}

/// One abort on its way through the handler.
struct vm::abort {
  engine::ipa address;  ///< the faulting page
  memslot& slot;
  const decoded_abort& what;
  bool is_private;  ///< no other thread can reach the chunk of `address`
  bool logging;     ///< of the slot when the handler looked it up: SRCU keeps its bitmap
  fault_action action = fault_action::none;
};

}  // namespace hvsim::hypervisor
