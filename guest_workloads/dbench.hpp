// SPDX-License-Identifier: Apache-2.0
// dbench in a guest: clients that call on files of one file system.
#pragma once

#include "guest_workloads/workload.hpp"

namespace hvsim::workloads {

/// Entry of the registry.
workload_entry dbench();

}  // namespace hvsim::workloads
