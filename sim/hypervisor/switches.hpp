// SPDX-License-Identifier: Apache-2.0
// The switches that make one kernel version differ from another.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mmu/stage2.hpp"
#include "sim/engine/units.hpp"
#include "sim/registry/catalogue.hpp"
#include "sim/registry/parameter.hpp"

namespace hvsim::hypervisor {

enum class lock_kind : std::uint8_t { spinlock, rwlock };
enum class lock_side : std::uint8_t { write, read };

/// All of them can be set alone in a scenario (hypervisor.*); presets are bundles. Defaults are
/// Linux 6.1. Sources per switch: docs/model.md.
struct switches {
  lock_kind mmu_lock = lock_kind::rwlock;
  lock_side fault_side = lock_side::write;  ///< side of mmu_lock in user_mem_abort
  bool permission_fast_path = true;         ///< read side for page-size write permission faults
  lock_side access_fault_side = lock_side::write;
  bool mmap_lock = true;             ///< take mmap_lock for the VMA lookup
  bool seq_before_unlock = true;     ///< read the notifier sequence before mmap_lock is dropped
  bool s1ptw_always_write = false;   ///< every stage-1 walk abort counts as a write
  bool dirty_inside_lock = true;     ///< mark the page dirty before mmu_lock is dropped
  bool eager_split_call = false;     ///< write protection is followed by the eager-split function
  engine::bytes eager_split_chunk;   ///< 0: no eager split
  bool tlbi_broadcast = true;        ///< false: every TLBI is local (a what-if, not a kernel)
  bool flush_by_range = false;       ///< slot flushes use FEAT_TLBIRANGE where the machine has it
  bool unmap_level_unknown = false;  ///< the unmap walker gives no level for table entries
  mmu::stage2_policy tables;
};

/// Table of hypervisor.* parameters, `hypervisor.kernel` first.
std::vector<registry::parameter> parameters();
/// linux-5.17 to linux-6.12.
std::vector<registry::preset> kernel_presets();
/// Typed form of parsed values.
switches make_switches(const registry::value_map& values);

}  // namespace hvsim::hypervisor
