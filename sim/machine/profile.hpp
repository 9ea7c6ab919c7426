// SPDX-License-Identifier: Apache-2.0
// What a machine costs and can do: the typed form of configs/machines/*.yaml.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/engine/random.hpp"
#include "sim/engine/units.hpp"
#include "sim/machine/topology.hpp"
#include "sim/registry/parameter.hpp"

namespace hvsim::machine {

/// A cost and how far single occurrences stray from it (uniform, parts per thousand).
struct cost {
  engine::duration mean;
  std::uint32_t spread_permille = 0;
  std::int64_t amplitude_ps = 0;  ///< mean * spread, set with the spread
  /// One occurrence: uniform in mean +- mean * spread, integers only, with mean `mean`.
  [[nodiscard]] engine::duration draw(engine::random_stream& r) const {
    if (spread_permille == 0) return mean;
    // u is odd and symmetric about 0 in +-65535; 2^16 parts of the amplitude.
    const std::int64_t u = static_cast<std::int64_t>(r.next16()) * 2 - 65535;
    return engine::duration{mean.ps() + amplitude_ps * u / 65536};
  }
};

/// Costs of the machine, each with one physical meaning. See docs/model.md for sources.
struct cost_table {
  cost guest_access;         ///< one load or store that hits TLB and cache, with loop overhead
  cost walk_descriptor;      ///< hardware walker: one descriptor read from the caches
  cost trap;                 ///< exit to the host and entry back, without any handling
  cost userspace_exit;       ///< return from KVM_RUN to the VMM and back
  cost irqchip_user;         ///< per exit without in-kernel vGIC: shared timer interrupt state
  cost fault_software;       ///< abort handling before mmu_lock: decode, memslot, VMA, GUP
  cost fault_locked;         ///< abort handling under mmu_lock outside the table walk
  cost table_visit;          ///< software walker: one descriptor visited
  cost table_update;         ///< one descriptor store or compare-and-swap in an owned line
  cost table_alloc;          ///< one page from the memcache
  cost line_local;           ///< atomic on a cache line that this core already owns
  cost line_transfer;        ///< moving a line between cores of one cluster
  cost line_hop;             ///< added per mesh step
  cost clean_line;           ///< DC CIVAC of one 64-byte line in a loop
  cost clean_barrier;        ///< DSB SY that waits for the cleaned lines
  cost instruction_barrier;  ///< ISB, or IC IVAU where DIC is absent
  cost tlbi_broadcast;       ///< TLBI *IS and DSB ISH: fixed part
  cost tlbi_answer;          ///< added per core of the machine that must answer; serialised
  cost tlbi_local;           ///< TLBI and DSB NSH
  cost vmid_switch;          ///< loading guest VTTBR and HCR for a TLBI and going back
  cost at_translate;         ///< AT S1E1R and reading PAR_EL1
  cost vma_lookup;           ///< finding the VMA under mmap_lock
  cost host_fault;           ///< host page fault without clearing
  cost page_refill;          ///< one page into the memcache, cleared
  cost dirty_set;            ///< set_bit in an owned line of the dirty bitmap
  cost bitmap_word;          ///< GET or CLEAR of one 64-bit word of the dirty bitmap
  cost ioctl_base;           ///< one ioctl with nothing to do
  cost thread_create;        ///< pthread_create until the main thread goes on
  cost thread_start;         ///< from creation to the first guest instruction
  cost rcu_grace;            ///< length of a grace period
  std::int64_t zero_bandwidth = 0;         ///< bytes per second of one core clearing pages
  std::int64_t dram_bandwidth = 0;         ///< bytes per second of all cores together
  std::int64_t clear_dram_permille = 0;    ///< share of a cleared block evicted while it is cleared
  std::uint32_t zero_spread_permille = 0;  ///< spread of single clearings
};

/// Architectural features and TLB geometry.
struct feature_table {
  bool fwb = false;            ///< FEAT_S2FWB
  bool tlbi_range = false;     ///< FEAT_TLBIRANGE
  bool ttl = false;            ///< FEAT_TTL
  bool dic = true;             ///< CTR_EL0.DIC: instruction cache needs no invalidation
  bool hw_access_flag = true;  ///< FEAT_HAFDBS, access flag part
  /// Aborts of stage-1 walks report the stage-1 level (QEMU 7.2 does; the architecture wants the
  /// stage-2 level).
  bool s1ptw_stage1_level = false;
  std::uint32_t tlb_l1_entries = 48;
  std::uint32_t tlb_l2_entries = 1280;
  std::uint32_t tlb_l2_ways = 5;
};

struct profile {
  std::string name;
  topology::shape shape;
  feature_table features;
  cost_table costs;
};

/// Parameters machine.costs.* (times and rates), in the order of cost_table.
std::vector<registry::parameter> cost_parameters();
/// Parameters machine.topology.* and machine.features.*.
std::vector<registry::parameter> topology_parameters();

/// Typed form of parsed values. `spread` gives parts per thousand by full cost key. Throws
/// registry::unknown_parameter when a key is missing.
profile make_profile(std::string name, const registry::value_map& values,
                     const std::vector<std::pair<std::string, std::uint32_t>>& spread);

}  // namespace hvsim::machine
