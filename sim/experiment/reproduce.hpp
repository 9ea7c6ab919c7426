// SPDX-License-Identifier: Apache-2.0
// Runs every cell of a published comparison and sets the results beside it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/experiment/batch.hpp"
#include "sim/experiment/cell_error.hpp"
#include "sim/experiment/fitted_costs.hpp"
#include "sim/experiment/published.hpp"

namespace hvsim::experiment {

struct reproduce_options {
  std::vector<std::string> tables;      ///< keys; empty: all
  std::vector<std::string> placements;  ///< empty: the first of the published file
  int seeds = 1;  ///< runs of each cell, seeds 1 to this, at least published::mean_of_seeds
  std::vector<std::string> sets;  ///< overrides of every run, applied last
  /// Divides the size of tables that name one; times are multiplied back. Above 1, series that
  /// correct another are left out.
  std::int64_t scale = 1;
  /// Above 1, the seeds of a cell are compared at sizes divided by this: how much a cell moves does
  /// not need its full size.
  std::int64_t seed_scale = 1;
  /// The catalogue's cost table, to show the fitted costs of the machine; empty: they are not.
  std::vector<registry::parameter> cost_table;
  pool_options pool;
};

/// One simulated cell. Errors are absent where nothing was published, everything is absent where
/// the run did not finish.
struct reproduced_cell {
  std::size_t x = 0;  ///< index into published_table::xs
  cell_role role = cell_role::predicted;
  /// Seed 1, or the mean of the seeds if published::mean_of_seeds is more; absent if the table is
  /// of no times.
  std::optional<engine::duration> simulated;
  std::optional<double> value;                    ///< the same in the table's unit
  std::vector<std::optional<double>> run_errors;  ///< percent, by published run
  std::optional<double> outside;                  ///< percent outside the interval of the runs
  double seed_spread = 0;                         ///< percent between the seeds
  std::vector<report::named_time> breakdown;      ///< of the phase, largest first
};

struct reproduced_series {
  std::size_t series = 0;  ///< index into published_table::series
  std::vector<reproduced_cell> cells;
};

struct reproduced_table {
  std::size_t table = 0;  ///< index into published::tables
  std::string placement;  ///< empty if the comparison has none
  std::vector<reproduced_series> series;
};

struct finished_run {
  std::string name;  ///< unique, usable as a file name
  report::run_result result;
};

struct reproduction {
  published paper;
  reproduce_options options;
  std::vector<reproduced_table> tables;  ///< by placement, then table
  std::string machine;                   ///< of the first run
  /// The fitted costs of `machine` as that run has them, and the cells of all of the comparison
  /// that setting them may use. Empty if the machine has none or no cell may be used.
  cost_setting setting;
  std::vector<finished_run> runs;  ///< in the order of the cells
  std::size_t planned_runs = 0;
  std::vector<std::string> failures;  ///< runs that failed, with the reason
  [[nodiscard]] bool complete() const { return runs.size() == planned_runs; }
};

/// A cell that the seeds move by more than this many percent is marked.
inline constexpr double marked_spread_percent = 2;

/// Makes the runs and the comparison. Cells without a published value are not run; cells that need
/// the same run share it. The same result for any number of jobs. Throws config_error (unknown
/// table or placement, a scenario that does not parse, a table whose unit is no time).
reproduction reproduce(const published& paper, const loader& load, const runner& run,
                       const reproduce_options& options);

/// Throws usage_error for placements and scales that change no run of the chosen tables.
void require_effects(const published& paper, const reproduce_options& options);

/// The overrides of one cell's run, in order: series, x, placement (if any), seed, and the size
/// `times / scale` of the published one (if `scale` is more than 1 and the table names a size).
/// Throws config_error for a broken size, usage_error if `scale` does not divide it.
std::vector<std::string> cell_sets(const published& paper, const published_table& table,
                                   const published_series& series, std::size_t x,
                                   const std::string& placement, int seed, std::int64_t scale,
                                   std::int64_t times = 1);

/// A time of the simulator in a table's unit, seconds or milliseconds.
double in_unit(engine::duration time, table_unit unit);

/// The published value that a cell is shown against: of the first run that has one.
const published_value* shown_value(const published_series& s, std::size_t x);

/// Magnitudes over the cells of a series that have `role` (or any), against one published run or
/// against the interval (`run` absent).
error_summary series_errors(const reproduced_series& s, std::optional<cell_role> role,
                            std::optional<std::size_t> run);

/// Baseline over changed at one x; absent if a side is missing.
struct speed_up {
  std::optional<double> simulated;
  std::vector<std::optional<double>> published;  ///< by published run
};
speed_up speed_up_at(const published& paper, const reproduced_table& t, std::size_t x);

}  // namespace hvsim::experiment
