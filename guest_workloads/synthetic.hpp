// SPDX-License-Identifier: Apache-2.0
// A guest access stream described in the scenario: regions, phases, steps.
#pragma once

#include "guest_workloads/workload.hpp"

namespace hvsim::workloads {

/// Entry of the registry.
workload_entry synthetic();

}  // namespace hvsim::workloads
