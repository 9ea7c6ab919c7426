// SPDX-License-Identifier: Apache-2.0
// hvsim compare FILE --vary KEY=A,B
#include <spdlog/spdlog.h>

#include "sim/experiment/compare.hpp"
#include "sim/report/atomic_file.hpp"
#include "sim/scenario/parse.hpp"
#include "sim/scenario/render.hpp"
#include "sim/scenario/units.hpp"
#include "tools/experiments.hpp"

namespace hvsim::tools {
namespace {

struct compare_arguments {
  experiment::compare_request request;
  std::vector<std::string> vary;
  std::string format = "text";
  std::string save;
  std::string baseline;
  std::string tolerance = "0%";
  unsigned jobs = 1;
};

experiment::comparison read_comparison(const std::string& path) {
  constexpr std::size_t limit = std::size_t{1} << 30;
  const auto text = scenario::read_text(path, limit);
  if (!text)
    throw exit_error(text.unreadable ? exit_no_input : exit_bad_data,
                     scenario::to_text(text.errors, text.sources));
  const auto document = nlohmann::ordered_json::parse(*text.value, nullptr, false);
  if (document.is_discarded()) throw report::input_error(path + ": not JSON");
  try {
    return experiment::comparison_from_json(document);
  } catch (const report::input_error& e) {
    throw report::input_error(path + ": " + e.what());
  }
}

std::int64_t ppm_of(const std::string& text) {
  const auto ppm = scenario::parse_percent_ppm(text);
  if (!ppm) throw exit_error(exit_usage, "--tolerance: " + ppm.error);
  return *ppm.value;
}

std::string render(const experiment::comparison& c, const std::string& format) {
  if (format == "csv") return experiment::to_csv(c);
  if (format == "json") return experiment::to_json(c).dump(2) + "\n";
  return experiment::to_text(c);
}

int compare_command(const context& ctx, const compare_arguments& a) {
  experiment::compare_request request = a.request;
  for (const std::string& text : a.vary) request.axes.push_back(experiment::parse_axis(text));
  const std::int64_t tolerance = ppm_of(a.tolerance);
  experiment::comparison before;
  if (!a.baseline.empty()) {
    before = read_comparison(a.baseline);
    if (request.axes.empty()) request.axes = before.axes;
    if (request.metrics.empty()) request.metrics = before.metrics;
  }
  refuse_overwriting(request.file, "--save", a.save);
  if (!a.save.empty()) report::require_writable(a.save);
  override_origins from;
  for (const auto& axis : request.axes) from.by_key[axis.key] = "--vary";
  request.pool = pool_for(ctx, a.jobs, "compare");
  const experiment::comparison now =
      experiment::compare(request, loader_for(ctx, from), runner_for(ctx));
  request.pool.progress = nullptr;
  print_and_store([&] { write_stdout(render(now, a.format)); },
                  [&] {
                    if (a.save.empty()) return;
                    // Cells without figures must not replace a whole comparison.
                    const std::string path = now.complete() ? a.save : a.save + ".incomplete";
                    report::write_file(path, experiment::to_json(now).dump(2) + "\n");
                    if (!now.complete()) spdlog::warn("not every cell has figures: wrote {}", path);
                  });
  for (const auto& cell : now.cells)
    if (!cell.error.empty()) spdlog::error("{}", cell.error);
  for (const auto& cell : now.cells)
    if (cell.cause) return exit_code_of(cell.cause);
  if (a.baseline.empty()) return now.complete() ? exit_ok : exit_failed;
  const auto all = experiment::deviations(now, before, tolerance);
  const std::string verdict = experiment::to_text(all);
  if (a.format == "text")
    write_stdout("\n" + verdict);
  else if (!all.empty())
    throw exit_error(exit_failed, verdict);
  return all.empty() && now.complete() ? exit_ok : exit_failed;
}

}  // namespace

void add_compare(CLI::App& app, context& ctx) {
  auto a = std::make_shared<compare_arguments>();
  auto* sub = app.add_subcommand("compare", "run a scenario under several settings, side by side");
  sub->add_option("FILE", a->request.file, "scenario, or the name of a built-in one")->required();
  sub->add_option("--vary", a->vary, "a key and its values; several make every combination")
      ->type_name("KEY=A,B,...")
      ->allow_extra_args(false);
  sub->add_option(
         "--metric", a->request.metrics,
         "what to compare, such as time.dirty2 or lock.mmu_lock.total_wait; default: every "
         "time that the workload reports")
      ->delimiter(',');
  add_sets(*sub, a->request.sets);
  add_text(*sub, "--save", a->save, "store the comparison", "FILE.json");
  add_text(*sub, "--baseline", a->baseline, "fail if a stored comparison came out otherwise",
           "FILE.json");
  sub->add_option("--tolerance", a->tolerance, "allowed difference from the baseline")
      ->type_name("PERCENT")
      ->capture_default_str()
      ->needs("--baseline");
  add_format(*sub, a->format, {"text", "json", "csv"});
  add_jobs(*sub, a->jobs);
  sub->callback([&ctx, a] { ctx.action = [&ctx, a] { return compare_command(ctx, *a); }; });
}

}  // namespace hvsim::tools
