// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/scenario.hpp"

#include "sim/scenario/units.hpp"

namespace hvsim::scenario {

std::vector<std::pair<std::string, std::string>> scenario::effective() const {
  return {texts.begin(), texts.end()};
}

registry::position scenario::where(std::string_view key) const {
  while (true) {
    if (auto it = positions.find(key); it != positions.end()) return it->second;
    auto dot = key.rfind('.');
    if (dot == std::string_view::npos) return {file, 1, 1};
    key = key.substr(0, dot);
  }
}

const registry::node* scenario::structure(std::string_view key) const {
  auto it = structures.find(key);
  return it == structures.end() ? nullptr : &it->second;
}

std::vector<rule> generic_rules() {
  return {
      {"vm.vcpus", [](const scenario& s) -> std::optional<std::string> {
         if (!s.values.has("vm.vcpus") || !s.values.has("machine.topology.cores"))
           return std::nullopt;
         auto vcpus = s.values.integer("vm.vcpus");
         auto cores = s.values.integer("machine.topology.cores");
         const bool scheduled = s.values.has("host.cpus") && s.values.integer("host.cpus") != 0;
         if (vcpus <= cores || scheduled) return std::nullopt;
         return "impossible combination: " + std::to_string(vcpus) + " vCPUs on the machine '" +
                s.machine.name + "' with " + std::to_string(cores) +
                " cores; expected at most one vCPU a core, or host.cpus for vCPUs that take turns";
       }}};
}

}  // namespace hvsim::scenario
