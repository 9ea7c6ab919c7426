// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/unread.hpp"

namespace hvsim::scenario {

std::vector<registry::diagnostic> unread_keys(const scenario& s,
                                              const registry::catalogue& catalogue) {
  std::vector<registry::diagnostic> out;
  const auto look = [&](const std::vector<registry::parameter>& table,
                        const registry::workload_info& workload) {
    for (const registry::parameter& p : table) {
      const auto written = s.positions.find(p.key);
      if (written == s.positions.end()) continue;
      for (const registry::read_condition& c : p.read_when) {
        if (c.holds(workload, s.values)) continue;
        out.push_back({written->second, p.key, "has no effect because it is read only " + c.when});
        break;
      }
    }
  };
  for (const registry::workload_info& w : catalogue.workloads) {
    if (w.name != s.workload) continue;
    for (const auto* table :
         {&catalogue.common, &w.parameters, &catalogue.topology, &catalogue.costs})
      look(*table, w);
  }
  return out;
}

}  // namespace hvsim::scenario
