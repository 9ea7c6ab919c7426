// SPDX-License-Identifier: Apache-2.0
// The registry of scheduling policies.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/sched/policy.hpp"

namespace hvsim::sched {

/// One row: a policy by its name in scenarios.
struct policy_kind {
  std::string name;
  std::unique_ptr<policy> (*make)(std::uint32_t cpus);
};

/// One line a policy. The first is the default.
std::vector<policy_kind> register_builtin_policies();

/// Throws std::invalid_argument for an unknown name.
std::unique_ptr<policy> make_policy(const std::string& name, std::uint32_t cpus);

}  // namespace hvsim::sched
