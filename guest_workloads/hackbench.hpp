// SPDX-License-Identifier: Apache-2.0
// hackbench (perf bench sched messaging): groups of tasks that send messages through pipes.
#pragma once

#include "guest_workloads/workload.hpp"

namespace hvsim::workloads {

/// Entry of the registry.
workload_entry hackbench();

}  // namespace hvsim::workloads
