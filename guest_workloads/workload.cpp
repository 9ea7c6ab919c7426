// SPDX-License-Identifier: Apache-2.0
#include "guest_workloads/workload.hpp"

#include "guest_workloads/dbench.hpp"
#include "guest_workloads/dirty_log_perf_test.hpp"
#include "guest_workloads/hackbench.hpp"
#include "guest_workloads/kernel_build.hpp"
#include "guest_workloads/lock_torture.hpp"
#include "guest_workloads/reaim.hpp"
#include "guest_workloads/synthetic.hpp"
#include "guest_workloads/trace.hpp"

namespace hvsim::workloads {

std::vector<workload_entry> register_builtin_workloads() {
  return {
      dirty_log_perf_test(), synthetic(), trace(),  lock_torture(),
      kernel_build(),        hackbench(), dbench(), reaim(),
  };
}

}  // namespace hvsim::workloads
