// SPDX-License-Identifier: Apache-2.0
// KVM's dirty_log_perf_test selftest as a workload.
#pragma once

#include "guest_workloads/workload.hpp"

namespace hvsim::workloads {

/// Entry of the registry.
workload_entry dirty_log_perf_test();

}  // namespace hvsim::workloads
