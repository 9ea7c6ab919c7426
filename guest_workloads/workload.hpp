// SPDX-License-Identifier: Apache-2.0
// What a workload is to the registry: a description, its parameters, and a function that runs it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "guest_workloads/session.hpp"
#include "sim/registry/catalogue.hpp"

namespace hvsim::workloads {

/// One row of the workload registry.
struct workload_entry {
  registry::workload_info info;
  /// Builds the guest in the session and runs it to its end. Throws std::runtime_error on failure.
  std::function<void(session&)> run;
};

/// The registry: one line a workload.
std::vector<workload_entry> register_builtin_workloads();

}  // namespace hvsim::workloads
