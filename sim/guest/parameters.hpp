// SPDX-License-Identifier: Apache-2.0
// What a scenario can say about a guest's kernel and about the host that schedules its vCPUs.
#pragma once

#include <vector>

#include "sim/guest/system.hpp"
#include "sim/registry/parameter.hpp"
#include "sim/sched/policies.hpp"
#include "sim/sched/shared_cpus.hpp"

namespace hvsim::guest {

/// guest.* and the scheduling part of host.*; used by workloads that run a guest kernel.
std::vector<registry::parameter> parameters();

/// How the host schedules vCPU threads.
struct host_options {
  sched::scheduler_options scheduler;
  std::string policy;
  sched::preemption preemption = sched::preemption::kernel;
  bool pinned = false;           ///< vCPU v on CPU v modulo the number of CPUs
  std::uint32_t vms = 1;         ///< guests that are all alike
  std::uint32_t background = 0;  ///< tasks of the host that always want a CPU
};

/// Typed forms. Throw registry::unknown_parameter when a key is missing.
host_options make_host_options(const registry::value_map& v);
system_options make_system_options(const registry::value_map& v);

}  // namespace hvsim::guest
