// SPDX-License-Identifier: Apache-2.0
#include "sim/sched/policies.hpp"

#include <stdexcept>

#include "sim/sched/cfs.hpp"

namespace hvsim::sched {

std::vector<policy_kind> register_builtin_policies() {
  return {
      {"cfs", [](std::uint32_t n) -> std::unique_ptr<policy> {
         return std::make_unique<cfs>(n, cfs_options{});
       }},
  };
}

std::unique_ptr<policy> make_policy(const std::string& name, std::uint32_t cpus) {
  for (const policy_kind& k : register_builtin_policies())
    if (k.name == name) return k.make(cpus);
  throw std::invalid_argument("no scheduling policy " + name);
}

}  // namespace hvsim::sched
