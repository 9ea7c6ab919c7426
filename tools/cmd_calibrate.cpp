// SPDX-License-Identifier: Apache-2.0
// hvsim calibrate NAME
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/experiment/calibrate.hpp"
#include "tools/experiments.hpp"

namespace hvsim::tools {
namespace {

struct calibrate_arguments {
  std::string name = "stage2-parallel-faults";
  experiment::calibrate_options options;
  std::string format = "text";
  unsigned jobs = 1;
  bool no_cells = false;
};

/// The first workload of the chosen tables (all if none is chosen) whose runs have no stage-2
/// faults.
std::optional<std::string> workload_without_faults(const context& ctx,
                                                   const experiment::published& paper,
                                                   const std::vector<std::string>& tables) {
  for (const auto& table : paper.tables) {
    if (!tables.empty() && std::find(tables.begin(), tables.end(), table.key) == tables.end())
      continue;
    const scenario::scenario s =
        load_scenario(ctx, table.scenario, {}, origins_of({}, paper.name), purpose::look);
    for (const auto& w : ctx.catalogue.workloads)
      if (w.name == s.workload && w.guest_kernel) return w.name;
  }
  return std::nullopt;
}

/// Throws exit_error if the costs that are fitted have no part in the published times.
void require_stage2(const context& ctx, const experiment::published& paper,
                    const std::vector<std::string>& tables) {
  const auto other = workload_without_faults(ctx, paper, tables);
  if (!other) return;
  std::vector<std::string> possible;
  for (const std::string& name : published_names())
    if (!workload_without_faults(ctx, load_published(name), {})) possible.push_back(name);
  throw exit_error(
      exit_usage,
      fmt::format("'{}' cannot be calibrated: the costs of stage-2 faults are fitted, and its "
                  "workload '{}' has none; can be calibrated: {}",
                  paper.name, *other, fmt::join(possible, ", ")));
}

std::string render(const experiment::calibration& c, const std::string& format) {
  if (format == "json") return experiment::to_json(c).dump(2) + "\n";
  return format == "csv" ? experiment::to_csv(c) : experiment::to_text(c);
}

int calibrate_command(const context& ctx, const calibrate_arguments& a) {
  const experiment::published paper = load_published(a.name);
  require_stage2(ctx, paper, a.options.runs.tables);
  experiment::calibrate_options options = a.options;
  options.report_cells = !a.no_cells;
  options.runs.pool.jobs = a.jobs;
  options.runs.pool.stop = ctx.stop;
  for (std::string& key : options.costs)
    if (key.find('.') == std::string::npos) key.insert(0, "machine.costs.");
  progress_line line(ctx, "calibrate: fit, at most");
  options.fit_progress = [&](double fraction) { line.update(fraction); };
  bool fitting = true;
  options.runs.pool.progress = [&](const experiment::pool_progress& p) {
    if (std::exchange(fitting, false)) line.restart("calibrate: cells");
    line.update(p.fraction);
  };
  options.watch = [&](const experiment::fit_round& r) {
    line.clear();
    spdlog::info("round {}: cost {:.6f}, {} points, step {:.5f}", r.round, r.cost, r.evaluations,
                 r.step);
  };
  const experiment::calibration result = experiment::calibrate(
      paper,
      loader_for(ctx, origins_of(options.runs.sets, paper.name,
                                 origins_of_scale(paper, options.runs.scale))),
      runner_for(ctx), ctx.catalogue.costs, options);
  line.clear();
  write_stdout(render(result, a.format));
  return result.on_bound() || !result.after.failures.empty() ? exit_failed : exit_ok;
}

}  // namespace

void add_calibrate(CLI::App& app, context& ctx) {
  auto a = std::make_shared<calibrate_arguments>();
  auto* sub = app.add_subcommand(
      "calibrate", "fit a machine's fitted costs to the intervals of published cells");
  sub->add_option("NAME", a->name, "a file, or " + names_of_published())->capture_default_str();
  add_sets(*sub, a->options.runs.sets);
  sub->add_option("--table", a->options.runs.tables, "only these tables")->delimiter(',');
  sub->add_option("--placement", a->options.runs.placements, "where vCPUs run")
      ->expected(1)
      ->type_name("NAME");
  sub->add_option("--cost", a->options.costs, "only these costs, by name")->delimiter(',');
  sub->add_option("--scale", a->options.runs.scale,
                  "fit on runs of 1/N and 2/N of the size, and what follows for all of it")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20));
  sub->add_option("--rounds", a->options.max_rounds, "at most so many rounds")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  sub->add_flag("--no-cells", a->no_cells, "do not run every cell with the fitted costs");
  add_format(*sub, a->format, {"text", "json", "csv"});
  add_jobs(*sub, a->jobs);
  sub->callback([&ctx, a] { ctx.action = [&ctx, a] { return calibrate_command(ctx, *a); }; });
}

}  // namespace hvsim::tools
