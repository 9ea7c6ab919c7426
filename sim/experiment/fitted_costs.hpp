// SPDX-License-Identifier: Apache-2.0
// The costs of kind `fitted` of a machine, and the published cells that setting them may use.
//
// Pure functions, which may be called from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/experiment/published.hpp"
#include "sim/registry/parameter.hpp"
#include "sim/scenario/scenario.hpp"

namespace hvsim::experiment {

/// A cost that is chosen within bounds.
struct fitted_cost {
  std::string key;  ///< "machine.costs.trap"
  registry::value_type type = registry::value_type::time;
  std::string source;
  std::int64_t value = 0;  ///< base units (ps, bytes/s, count), as the bounds
  std::int64_t min = 0;
  std::int64_t max = 0;
};

/// Fitted costs, and how much they were chosen from.
struct cost_setting {
  std::vector<fitted_cost> costs;  ///< in the order of the machine profile
  std::size_t cells = 0;           ///< published cells that setting them may use
  [[nodiscard]] std::int64_t degrees_of_freedom() const {
    return static_cast<std::int64_t>(cells) - static_cast<std::int64_t>(costs.size());
  }
};

/// A cell that setting the costs may use, with the interval of what was published of it. Points
/// into the published file.
struct fitted_cell {
  const published_table* table;
  const published_series* series;
  std::size_t x;
  double low = 0;
  double high = 0;
};

/// The cells of the tables named (empty: of all) that are marked as fitted: times, and not of a
/// series that corrects another one.
std::vector<fitted_cell> fitted_cells(const published& paper,
                                      const std::vector<std::string>& tables);

/// The costs of kind `fitted`, or those with the keys `only`. `table` is the catalogue's cost
/// table. Throws config_error for a cost without bounds or one that `table` does not have.
std::vector<fitted_cost> fitted_costs_of(const scenario::machine_profile& machine,
                                         const std::vector<registry::parameter>& table,
                                         const std::vector<std::string>& only = {});

/// "trap" of "machine.costs.trap".
std::string short_name(const std::string& key);
/// A value or a bound of `c` as a user writes it.
std::string text_of(const fitted_cost& c, std::int64_t value);
/// "10 fitted costs, 14 published cells, 4 degrees of freedom".
std::string numbers_text(std::size_t costs, std::size_t cells);

}  // namespace hvsim::experiment
