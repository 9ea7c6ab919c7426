// SPDX-License-Identifier: Apache-2.0
// The kernel's locktorture on one spinlock, with set times.
#pragma once

#include "guest_workloads/workload.hpp"

namespace hvsim::workloads {

/// Entry of the registry.
workload_entry lock_torture();

}  // namespace hvsim::workloads
