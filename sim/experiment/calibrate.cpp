// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/experiment/grid.hpp"
#include "sim/experiment/reproduce_render.hpp"
#include "sim/report/table.hpp"
#include "sim/scenario/units.hpp"

namespace hvsim::experiment {
namespace {

/// Relative distance from the interval: 0 inside, negative below.
double outside_of(const fitted_cell& t, double value) {
  if (value < t.low) return (value - t.low) / t.low;
  return value > t.high ? (value - t.high) / t.high : 0;
}

/// Residuals of one cell. `rms_outside` knows their order.
constexpr std::size_t residuals_per_cell = 2;
void add_residuals(const fitted_cell& t, double value, std::vector<double>& out) {
  const double middle = (t.low + t.high) / 2;
  out.push_back(outside_of(t, value));
  out.push_back(middle_weight * (value - middle) / middle);
}

/// Root mean square distance from the intervals, in percent.
double rms_outside(const std::vector<double>& residuals) {
  double sum = 0;
  for (std::size_t i = 0; i < residuals.size(); i += residuals_per_cell)
    sum += residuals[i] * residuals[i];
  const std::size_t cells = std::max<std::size_t>(residuals.size() / residuals_per_cell, 1);
  return 100 * std::sqrt(sum / static_cast<double>(cells));
}

std::vector<fitted_cell> targets_of(const published& paper,
                                    const std::vector<std::string>& tables) {
  std::vector<std::string> known;
  for (const published_table& t : paper.tables) known.push_back(t.key);
  for (const std::string& key : tables)
    if (std::find(known.begin(), known.end(), key) == known.end())
      throw usage_error("--table: " + scenario::unknown_word("table", key, known));
  std::vector<fitted_cell> out = fitted_cells(paper, tables);
  for (const fitted_cell& c : out)
    if (!(c.low > 0))
      throw config_error(fmt::format("{} {} at {}: a value of 0 cannot be fitted", c.table->key,
                                     c.series->key, c.table->xs[c.x]));
  if (out.empty()) throw config_error("no cell of the chosen tables is marked as fitted");
  return out;
}

std::vector<calibrated_cost> costs_of(const scenario::machine_profile& machine,
                                      const std::vector<registry::parameter>& table,
                                      const std::vector<std::string>& only) {
  std::vector<calibrated_cost> out;
  for (fitted_cost& cost : fitted_costs_of(machine, table, only)) {
    if (cost.min >= cost.max)
      throw config_error(fmt::format("{}: a cost needs min and max to be fitted", cost.key));
    const std::int64_t start = cost.value;
    out.push_back({std::move(cost), start, false});
  }
  std::vector<std::string> known;
  for (const scenario::cost_info& info : machine.costs) known.push_back(short_name(info.key));
  for (const std::string& key : only)
    if (std::none_of(out.begin(), out.end(), [&](const auto& c) { return c.key == key; }))
      throw usage_error("--cost: " + scenario::unknown_word("cost", short_name(key), known));
  if (out.empty()) throw config_error(fmt::format("machine '{}' has no fitted cost", machine.name));
  return out;
}

/// Steps of about a thousandth of the range, so that fitted values are not longer than they are
/// known.
double grain_of(const calibrated_cost& c) {
  std::int64_t grain = 1;
  while (grain <= (c.max - c.min) / 10'000) grain *= 10;
  return static_cast<double>(grain);
}

class calibrator {
 public:
  calibrator(const published& paper, const loader& load, const runner& run,
             const std::vector<registry::parameter>& table, const calibrate_options& options)
      : paper_(paper), load_(load), run_(run), options_(options) {
    if (!paper.placement_key.empty())
      placement_ = options.runs.placements.empty() ? paper.placements.at(0)
                                                   : options.runs.placements.front();
    for (const std::string& p : options.runs.placements)
      if (std::find(paper.placements.begin(), paper.placements.end(), p) == paper.placements.end())
        throw usage_error("--placement: " +
                          scenario::unknown_word("placement", p, paper.placements));
    targets_ = targets_of(paper, options.runs.tables);
    require_effects(paper, options.runs);
    out_.costs = costs_of(load(targets_.front().table->scenario, {}).machine, table, options.costs);
    out_.cells = targets_.size();
    out_.scale = options.runs.scale;
    std::vector<std::string> varied;
    for (const calibrated_cost& c : out_.costs) varied.push_back(c.key);
    refuse_overwritten(options.runs.sets, varied, "the fit");
  }

  calibration make() {
    std::vector<fit_parameter> parameters;
    for (const calibrated_cost& c : out_.costs)
      parameters.push_back({c.key, static_cast<double>(c.start), static_cast<double>(c.min),
                            static_cast<double>(c.max), grain_of(c)});
    fit_options how;
    how.max_rounds = options_.max_rounds;
    how.last_step = 5e-4;
    how.tolerance = 1e-4;
    how.watch = options_.watch;
    bool first = true;
    const auto residuals = [&](const std::vector<fit_point>& points) {
      auto all = evaluate(points);
      if (std::exchange(first, false)) out_.outside_at_start = rms_outside(all.front());
      return all;
    };
    try {
      out_.fit = least_squares(parameters, residuals, how);
    } catch (const fit_stopped&) {
      throw interrupted();
    }
    out_.outside = rms_outside(out_.fit.residuals);
    for (std::size_t i = 0; i < out_.costs.size(); ++i)
      out_.costs[i].value = std::llround(out_.fit.values[i]);
    for (std::size_t i : out_.fit.at_bound) out_.costs[i].at_bound = true;
    if (options_.report_cells && !out_.fit.stopped) {
      reproduce_options all = options_.runs;
      all.scale = 1;
      for (std::string& s : sets_at(out_.fit.values)) all.sets.push_back(std::move(s));
      out_.after = reproduce(paper_, load_, run_, all);
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::vector<std::string> sets_at(const fit_point& point) const {
    std::vector<std::string> sets;
    for (std::size_t i = 0; i < out_.costs.size(); ++i)
      sets.push_back(
          fmt::format("{}={}", out_.costs[i].key, text_of(out_.costs[i], std::llround(point[i]))));
    return sets;
  }

  /// The runs of one cell at one point: one, or two sizes.
  void add_runs(batch& runs, const fitted_cell& t, const fit_point& point,
                std::vector<std::size_t>& indices) const {
    for (std::int64_t times = 1; times <= sizes(t); ++times) {
      std::vector<std::string> sets =
          cell_sets(paper_, *t.table, *t.series, t.x, placement_, 1, options_.runs.scale, times);
      sets.insert(sets.end(), options_.runs.sets.begin(), options_.runs.sets.end());
      for (std::string& s : sets_at(point)) sets.push_back(std::move(s));
      const double weight = static_cast<double>(t.table->xs[t.x] * times);
      indices.push_back(runs.add(t.table->scenario, sets, weight));
    }
  }

  /// In how many sizes a cell is run.
  [[nodiscard]] std::int64_t sizes(const fitted_cell& t) const {
    return options_.runs.scale > 1 && !t.table->size_key.empty() ? 2 : 1;
  }

  std::vector<std::vector<double>> evaluate(const std::vector<fit_point>& points) {
    batch runs(load_, run_);
    std::vector<std::size_t> indices;
    for (const fit_point& point : points)
      for (const fitted_cell& t : targets_) add_runs(runs, t, point, indices);
    pool_options pool = options_.runs.pool;
    pool.progress = nullptr;
    if (options_.fit_progress)
      pool.progress = [this, n = static_cast<double>(points.size())](const pool_progress& p) {
        options_.fit_progress((static_cast<double>(points_done_) + p.fraction * n) /
                              static_cast<double>(most_points()));
      };
    const std::vector<run_outcome>& outcomes = runs.run(pool);
    points_done_ += points.size();
    std::vector<std::vector<double>> out(points.size());
    auto next = indices.begin();
    for (std::vector<double>& residuals : out)
      for (const fitted_cell& t : targets_) {
        engine::duration time = time_of(t, outcomes[*next++]);
        if (sizes(t) == 2) {
          const engine::duration piece = time_of(t, outcomes[*next++]) - time;
          time += piece * (options_.runs.scale - 1);
        }
        add_residuals(t, in_unit(time, t.table->unit), residuals);
      }
    return out;
  }

  /// With the start and every round.
  [[nodiscard]] std::size_t most_points() const {
    return 1 +
           static_cast<std::size_t>(options_.max_rounds) * most_points_of_round(out_.costs.size());
  }

  static engine::duration time_of(const fitted_cell& t, const run_outcome& o) {
    if (!o.error.empty())
      throw std::runtime_error(
          fmt::format("{} {} at {}: {}", t.table->key, t.series->key, t.table->xs[t.x], o.error));
    if (!o.result) throw fit_stopped();
    const auto time = report::find_time(*o.result, t.table->time);
    if (!time) throw config_error(fmt::format("the workload reports no time '{}'", t.table->time));
    return *time;
  }

  const published& paper_;
  const loader& load_;
  const runner& run_;
  const calibrate_options& options_;
  std::string placement_;
  std::vector<fitted_cell> targets_;
  std::size_t points_done_ = 0;
  calibration out_;
};

std::string profile_lines(const calibration& c) {
  std::string out;
  for (const calibrated_cost& cost : c.costs) {
    std::string source;
    for (char ch : cost.source) source += ch == '"' ? '\'' : ch;
    out += fmt::format("  {}: {{value: {}, kind: fitted, min: {}, max: {}, source: \"{}\"}}\n",
                       short_name(cost.key), text_of(cost, cost.value), text_of(cost, cost.min),
                       text_of(cost, cost.max), source);
  }
  return out;
}

}  // namespace

calibration calibrate(const published& paper, const loader& load, const runner& run,
                      const std::vector<registry::parameter>& table,
                      const calibrate_options& options) {
  return calibrator(paper, load, run, table, options).make();
}

std::string to_text(const calibration& c) {
  std::string out = numbers_text(c.costs.size(), c.cells) + "\n";
  if (c.scale > 1)
    out += fmt::format(
        "fitted on runs of 1/{0} and 2/{0} of the published size, and what follows "
        "from them for all of it\n",
        c.scale);
  out += fmt::format(
      "root mean square distance of the cells shown from the interval of their published values: "
      "{:.2f}% at the start, {:.2f}% at the end ({} rounds, {} points)\n\n",
      c.outside_at_start, c.outside, c.fit.rounds, c.fit.evaluations);
  if (c.fit.stopped)
    out += fmt::format(
        "interrupted in round {}: the best costs until then, which the fit had not settled\n\n",
        c.fit.rounds + 1);
  else if (!c.after.complete() && c.after.failures.empty())
    out += "interrupted while the cells were run: the fit is whole, the cells are not\n\n";
  report::table t({{"cost", report::align::left},
                   {"min"},
                   {"start"},
                   {"fitted"},
                   {"max"},
                   {"", report::align::left}});
  for (const calibrated_cost& cost : c.costs)
    t.add({short_name(cost.key), text_of(cost, cost.min), text_of(cost, cost.start),
           text_of(cost, cost.value), text_of(cost, cost.max),
           cost.at_bound ? "ON ITS BOUND" : ""});
  out += t.to_text() + "\nFor the machine profile:\ncosts:\n" + profile_lines(c);
  if (!c.after.tables.empty())
    out += "\nCells shown (fitted) and not shown (predicted), at full size:\n" + to_text(c.after);
  if (c.on_bound() && !c.fit.stopped)
    out += "\nfailed: a fitted cost lies on its bound; the bounds or the model are wrong\n";
  return out;
}

nlohmann::ordered_json to_json(const calibration& c) {
  using json = nlohmann::ordered_json;
  const auto percent = [](double v) { return fmt::format("{:.3f}", v); };
  json doc = {{"schema_version", 1},
              {"published_cells", c.cells},
              {"degrees_of_freedom", c.degrees_of_freedom()},
              {"scale", c.scale},
              {"outside_percent_at_start", percent(c.outside_at_start)},
              {"outside_percent", percent(c.outside)},
              {"rounds", c.fit.rounds},
              {"points", c.fit.evaluations},
              {"interrupted", c.fit.stopped},
              {"costs", json::array()}};
  for (const calibrated_cost& cost : c.costs)
    doc["costs"].push_back({{"name", short_name(cost.key)},
                            {"min", text_of(cost, cost.min)},
                            {"start", text_of(cost, cost.start)},
                            {"fitted", text_of(cost, cost.value)},
                            {"max", text_of(cost, cost.max)},
                            {"at_bound", cost.at_bound}});
  if (!c.after.tables.empty()) doc["cells"] = to_json(c.after);
  return doc;
}

std::string to_csv(const calibration& c) {
  std::string out = "cost,min,start,fitted,max,at_bound\n";
  for (const calibrated_cost& cost : c.costs)
    out += report::csv_line({short_name(cost.key), text_of(cost, cost.min),
                             text_of(cost, cost.start), text_of(cost, cost.value),
                             text_of(cost, cost.max), cost.at_bound ? "true" : "false"});
  return out;
}

}  // namespace hvsim::experiment
