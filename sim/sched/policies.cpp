// SPDX-License-Identifier: Apache-2.0
#include "sim/sched/policies.hpp"

#include <stdexcept>

#include "sim/sched/cfs.hpp"
#include "sim/sched/credit.hpp"
#include "sim/sched/eevdf.hpp"

namespace hvsim::sched {

namespace {
template <class Policy, class Options>
std::unique_ptr<policy> make(std::uint32_t cpus) {
  return std::make_unique<Policy>(cpus, Options{});
}
}  // namespace

std::vector<policy_kind> register_builtin_policies() {
  return {
      {"cfs", make<cfs, cfs_options>},
      {"eevdf", make<eevdf, eevdf_options>},
      {"credit", make<credit, credit_options>},
  };
}

std::unique_ptr<policy> make_policy(const std::string& name, std::uint32_t cpus) {
  for (const policy_kind& k : register_builtin_policies())
    if (k.name == name) return k.make(cpus);
  throw std::invalid_argument("no scheduling policy " + name);
}

}  // namespace hvsim::sched
