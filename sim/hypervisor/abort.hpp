// SPDX-License-Identifier: Apache-2.0
// What the parts of the abort handler share.
#pragma once

#include "sim/hypervisor/vm.hpp"

namespace hvsim::hypervisor {

inline constexpr engine::bytes page_size = engine::kibibytes(4);
inline constexpr engine::bytes block_size = engine::mebibytes(2);

/// One SRCU read-side section.
class srcu_section {
 public:
  srcu_section(sync::srcu& s, const machine::cpu& c) : srcu_(s), c_(c) { srcu_.read_lock(c_); }
  srcu_section(const srcu_section&) = delete;
  srcu_section& operator=(const srcu_section&) = delete;
  ~srcu_section() { srcu_.read_unlock(c_); }

 private:
  sync::srcu& srcu_;
  const machine::cpu& c_;
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
