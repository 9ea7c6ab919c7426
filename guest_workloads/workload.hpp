// SPDX-License-Identifier: Apache-2.0
// What a workload is to the registry: a description, its parameters, and a function that runs it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "guest_workloads/session.hpp"
#include "sim/registry/catalogue.hpp"

namespace hvsim::workloads {

class guest_session;

/// One row of the workload registry.
struct workload_entry {
  registry::workload_info info;
  /// Builds the guest in the session and runs it to its end. Throws std::runtime_error on failure.
  std::function<void(session&)> run{};
  /// For workloads that need a guest kernel, instead of `run`: starts tasks, runs them to their end
  /// and reports. Throws std::runtime_error on failure.
  std::function<void(guest_session&)> run_guest{};
};

/// The registry: one line a workload.
std::vector<workload_entry> register_builtin_workloads();

}  // namespace hvsim::workloads
