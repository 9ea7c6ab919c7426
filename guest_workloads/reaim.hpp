// SPDX-License-Identifier: Apache-2.0
// reaim's compute mix in a guest.
#pragma once

#include "guest_workloads/workload.hpp"

namespace hvsim::workloads {

/// Entry of the registry.
workload_entry reaim();

}  // namespace hvsim::workloads
