// SPDX-License-Identifier: Apache-2.0
// What `workload.regions` and `workload.phases` of the synthetic workload say, typed and checked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "guest_workloads/stream_patterns.hpp"
#include "mmu/walker.hpp"
#include "sim/engine/units.hpp"
#include "sim/registry/catalogue.hpp"

namespace hvsim::workloads {

/// A named part of each vCPU's memory (sharing: private) or of the common memory (shared).
struct stream_region {
  std::string name;
  std::uint64_t offset = 0;  ///< bytes, a multiple of 4096
  std::uint64_t size = 0;    ///< bytes, a positive multiple of 4096
};

/// A run of accesses of one kind of order in one region.
struct stream_step {
  stream_region where;
  pattern order = pattern::sequential;
  std::uint64_t stride = 4096;
  double exponent = 0.99;
  std::uint64_t count = 0;  ///< accesses of each vCPU
  std::uint32_t write_percent = 0;
  std::uint32_t execute_percent = 0;  ///< what is neither is read
  engine::duration think{};           ///< guest time after each access
  std::vector<std::uint32_t> vcpus;   ///< who takes part, ascending; empty: all
  [[nodiscard]] bool includes(std::uint32_t vcpu) const;
};

/// What the VMM does with the dirty log before a phase.
enum class log_action : std::uint8_t { keep, enable, disable, clear };

/// What the host's memory management does to the guest beside a phase, by MMU notifiers.
enum class notify_action : std::uint8_t { none, unmap, age };

/// Steps that every vCPU goes through without waiting for others; phases wait for all.
struct stream_phase {
  std::string name;
  log_action log = log_action::keep;
  notify_action notify = notify_action::none;
  stream_region notified;              ///< through which the notifiers go
  engine::duration notify_interval{};  ///< before each chunk of it
  std::uint32_t repeat = 1;
  std::vector<stream_step> steps;
  /// Name of repetition `i` from 0: the phase's own, or with a number from 1 if it repeats.
  [[nodiscard]] std::string name_of(std::uint32_t i) const;
};

struct stream_plan {
  std::uint64_t memory = 0;        ///< bytes of each vCPU, or of all if shared
  std::uint64_t total_memory = 0;  ///< bytes of all vCPUs
  bool shared = false;
  std::vector<stream_phase> phases;
  /// Whether MMU notifiers come while vCPUs run.
  [[nodiscard]] bool notifies() const;
  /// Guest accesses of all vCPUs in the whole plan.
  [[nodiscard]] std::uint64_t accesses(std::uint32_t vcpus) const;
};

/// Reads the plan. What is wrong goes to `out` with its position; the plan is then incomplete.
stream_plan read_plan(const registry::value_map& values, const registry::structure_map& structures,
                      std::vector<registry::diagnostic>& out);

}  // namespace hvsim::workloads
