// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/fitted_costs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/experiment/source.hpp"
#include "sim/scenario/units.hpp"

namespace hvsim::experiment {

std::vector<fitted_cell> fitted_cells(const published& paper,
                                      const std::vector<std::string>& tables) {
  std::vector<fitted_cell> out;
  for (const published_table& t : paper.tables) {
    if (!tables.empty() && std::find(tables.begin(), tables.end(), t.key) == tables.end()) continue;
    if (t.unit == table_unit::other) continue;
    for (const published_series& s : t.series) {
      if (!s.corrects.empty()) continue;
      for (std::size_t x = 0; x < t.xs.size(); ++x) {
        std::vector<double> values;
        for (const auto& run : s.values)
          if (run[x]) values.push_back(run[x]->value);
        if (s.roles[x] != cell_role::fitted || values.empty()) continue;
        const auto [low, high] = std::minmax_element(values.begin(), values.end());
        out.push_back({&t, &s, x, *low, *high});
      }
    }
  }
  return out;
}

std::vector<fitted_cost> fitted_costs_of(const scenario::machine_profile& machine,
                                         const std::vector<registry::parameter>& table,
                                         const std::vector<std::string>& only) {
  std::vector<fitted_cost> out;
  for (const scenario::cost_info& info : machine.costs) {
    const bool named = std::find(only.begin(), only.end(), info.key) != only.end();
    if (only.empty() ? info.kind != registry::cost_kind::fitted : !named) continue;
    if (!info.min || !info.max)
      throw config_error(fmt::format("{}: a cost needs min and max to be fitted", info.key));
    const auto row =
        std::find_if(table.begin(), table.end(), [&](const auto& p) { return p.key == info.key; });
    if (row == table.end()) throw config_error(fmt::format("{}: no such cost", info.key));
    out.push_back(
        {info.key, row->type, info.source, machine.values.integer(info.key), *info.min, *info.max});
  }
  return out;
}

std::string short_name(const std::string& key) {
  return key.substr(key.rfind('.') + 1);
}

std::string text_of(const fitted_cost& c, std::int64_t value) {
  return scenario::format_value(c.type, registry::value{value});
}

std::string numbers_text(std::size_t costs, std::size_t cells) {
  return fmt::format("{} fitted costs, {} published cells, {} degrees of freedom", costs, cells,
                     static_cast<std::int64_t>(cells) - static_cast<std::int64_t>(costs));
}

}  // namespace hvsim::experiment
