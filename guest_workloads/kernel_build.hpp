// SPDX-License-Identifier: Apache-2.0
// `make -j` of a kernel in a guest.
#pragma once

#include "guest_workloads/workload.hpp"

namespace hvsim::workloads {

/// Entry of the registry.
workload_entry kernel_build();

}  // namespace hvsim::workloads
