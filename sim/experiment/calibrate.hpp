// SPDX-License-Identifier: Apache-2.0
// Fits the costs of kind `fitted` to the cells of a published file that a fit may use.
//
// A cell that was published several times is an interval: what lies inside it is as good as what
// was measured. The fit minimises the distances from these intervals, and weakly those from their
// middles, so that the costs are determined where every cell is inside.
//
// Runs of a fraction of the size would show start-up costs that the full size hides. Above scale 1
// each cell is therefore run at 1/scale and 2/scale of its size, and the difference, the cost of
// one more such piece, is added scale - 1 times to the first.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/experiment/fitted_costs.hpp"
#include "sim/experiment/optimise.hpp"
#include "sim/experiment/reproduce.hpp"
#include "sim/registry/parameter.hpp"

namespace hvsim::experiment {

struct calibrate_options {
  reproduce_options runs;          ///< tables, the placement (the first alone), scale, pool
  std::vector<std::string> costs;  ///< fit only these keys; empty: every fitted cost
  int max_rounds = 30;
  bool report_cells = true;  ///< run every cell once more, at full size, with the fitted costs
  std::function<void(const fit_round&)> watch;
  /// Called now and then, one call at a time, from any thread: the share that the fit has done of
  /// the most that it may do; it may end before. `runs.pool.progress` is about the cells after it.
  std::function<void(double)> fit_progress;
};

/// `value` is what the fit found.
struct calibrated_cost : fitted_cost {
  std::int64_t start = 0;  ///< base units (ps, bytes/s, count)
  bool at_bound = false;
};

struct calibration {
  std::vector<calibrated_cost> costs;
  std::size_t cells = 0;  ///< published cells that the fit saw
  std::int64_t scale = 1;
  double outside_at_start = 0;  ///< root mean square distance from the intervals, percent
  double outside = 0;           ///< the same with the fitted costs
  fit_result fit;               ///< `stopped`: the costs are the best that were known then
  reproduction after;           ///< every cell with the fitted costs; empty if it was not asked for
  [[nodiscard]] std::int64_t degrees_of_freedom() const {
    return static_cast<std::int64_t>(cells) - static_cast<std::int64_t>(costs.size());
  }
  [[nodiscard]] bool on_bound() const { return !fit.at_bound.empty(); }
};

/// The share of a cell's residual that pulls it to the middle of its interval.
inline constexpr double middle_weight = 0.1;

/// A cell gives two residuals: its relative distance from the interval of its published values, and
/// `middle_weight` times that from the middle. Series that correct another are not fitted. Costs
/// are whole multiples of about a thousandth of their range. `table` is the catalogue's cost table.
/// Throws config_error (no fitted cost, a fitted cost without bounds, no fitted cell), usage_error
/// (an unknown cost, table or placement, an override of what the fit varies), interrupted if it is
/// stopped before the costs of the start are judged, and std::runtime_error with the run's message
/// when a run fails.
calibration calibrate(const published& paper, const loader& load, const runner& run,
                      const std::vector<registry::parameter>& table,
                      const calibrate_options& options);

/// Parameters with bounds, degrees of freedom, start and final values, the lines to put into the
/// machine profile, and errors of the cells shown and not shown.
std::string to_text(const calibration& c);
/// One document with what to_text shows: the costs, how well they fit, and under `cells`, if they
/// were run, what to_json of a reproduction gives.
nlohmann::ordered_json to_json(const calibration& c);
/// Header and one row a cost: cost,min,start,fitted,max,at_bound.
std::string to_csv(const calibration& c);

}  // namespace hvsim::experiment
