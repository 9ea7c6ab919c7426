// SPDX-License-Identifier: Apache-2.0
// Replays a text trace of guest accesses, or the faults of an ftrace recording.
#pragma once

#include "guest_workloads/workload.hpp"

namespace hvsim::workloads {

/// Entry of the registry. Running it throws trace_error for a wrong trace, trace_unreadable for
/// one that cannot be opened.
workload_entry trace();

}  // namespace hvsim::workloads
