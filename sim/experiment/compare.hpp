// SPDX-License-Identifier: Apache-2.0
// The same scenario under several settings, side by side, and against a stored comparison.
#pragma once

#include <cstdint>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/experiment/batch.hpp"
#include "sim/experiment/grid.hpp"
#include "sim/experiment/source.hpp"
#include "sim/report/json_source.hpp"
#include "sim/report/metrics.hpp"

namespace hvsim::experiment {

struct compare_request {
  std::string file;
  std::vector<std::string> sets;     ///< overrides of every cell
  std::vector<sweep_axis> axes;      ///< applied after `sets`
  std::vector<std::string> metrics;  ///< paths of report::metrics; empty: every reported time
  pool_options pool;
  std::string axes_from = "--vary";  ///< what gives `axes`, for messages
};

/// The axes, or one of the metrics, of a request cannot be.
class request_error : public usage_error {
 public:
  /// `metric`: the index of the metric; absent: the axes.
  request_error(std::optional<std::size_t> metric, const std::string& reason)
      : usage_error((metric ? "--metric: " : "--vary: ") + reason),
        metric_(metric),
        reason_(reason) {}
  [[nodiscard]] std::optional<std::size_t> metric() const { return metric_; }
  /// what() without the option's name.
  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  std::optional<std::size_t> metric_;
  std::string reason_;
};

/// One cell with the chosen metrics, in the order of comparison::metrics. Empty values: the run
/// did not finish.
struct compared_cell {
  grid_cell at;
  std::vector<report::metric> values;
  std::string error;           ///< why the run failed; empty if it did not
  std::exception_ptr cause{};  ///< what it failed with
};

struct comparison {
  std::string name;  ///< of the scenario
  std::vector<sweep_axis> axes;
  std::vector<std::string> metrics;
  std::vector<compared_cell> cells;  ///< in the order of grid_cells
  [[nodiscard]] bool complete() const;
};

/// Runs every cell. A count, lock, exit or part is 0 where it can happen and did not, and where
/// only other cells have it.
/// Throws config_error (a scenario is wrong), usage_error (an override that an axis overwrites) and
/// request_error (an axis, two cells that are the same run, an unknown metric with the nearest
/// known).
comparison compare(const compare_request& request, const loader& load, const runner& run);

/// A table for each metric. With two axes or more the first one runs along the columns, with the
/// ratio of its first value to each other; with one axis it runs along the rows.
std::string to_text(const comparison& c);
/// Tidy: one row a cell and metric; the columns are the axes, then metric,value,unit.
std::string to_csv(const comparison& c);
/// The document that --save writes and --baseline reads.
nlohmann::ordered_json to_json(const comparison& c);
/// Throws report::input_error with everything that is wrong and where: holes, axes that come twice,
/// cells that the axes do not make, metrics that are no selectors.
comparison comparison_from_json(const report::json_source& source);

/// Why `path` cannot be compared; empty if it looks like the path of a number.
std::string metric_error(std::string_view path);

/// One thing in which a comparison left its baseline.
struct deviation {
  std::string cell;    ///< "hypervisor.kernel=linux-6.1 vm.vcpus=4"
  std::string metric;  ///< empty: the whole cell is missing
  std::string expected;
  std::string got;
  std::string change;  ///< "+3.1%"; empty where there is no ratio
};

/// Every metric of every cell of `baseline` that is missing in `now` or differs from it by more
/// than `tolerance_ppm` parts per million, in either direction. Exact integer arithmetic: a
/// difference of exactly the tolerance passes.
std::vector<deviation> deviations(const comparison& now, const comparison& baseline,
                                  std::int64_t tolerance_ppm);
/// The deviations as a table; one line saying so if there are none.
std::string to_text(const std::vector<deviation>& all);

/// The metric of a run by path; 0 for what can happen and did not (see zero_metric). Throws
/// config_error for a path that no run has: the message has the nearest known one and its family.
report::metric metric_at(const std::vector<report::metric>& all, std::string_view path);

}  // namespace hvsim::experiment
