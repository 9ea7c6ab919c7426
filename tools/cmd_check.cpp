// SPDX-License-Identifier: Apache-2.0
// hvsim check FILE|DIR...
#include <spdlog/spdlog.h>

#include "sim/experiment/check.hpp"
#include "sim/report/atomic_file.hpp"
#include "sim/report/junit.hpp"
#include "tools/experiments.hpp"

namespace hvsim::tools {
namespace {

struct check_arguments {
  std::vector<std::string> paths;
  std::vector<std::string> sets;
  std::string junit;
  std::string format = "text";
  unsigned jobs = 1;
};

std::string render(const experiment::check_report& r, const std::string& format) {
  if (format == "json") return experiment::to_json(r).dump(2) + "\n";
  return format == "csv" ? experiment::to_csv(r) : experiment::to_text(r);
}

int check_command(const context& ctx, const check_arguments& a) {
  if (!a.junit.empty()) report::require_writable(a.junit);
  const std::vector<std::string> files = experiment::scenario_files(a.paths);
  for (const std::string& file : files) refuse_overwriting(file, "--junit", a.junit);
  experiment::pool_options pool = pool_for(ctx, a.jobs, "check");
  const experiment::check_report report = experiment::check(
      files, a.sets, loader_for(ctx, origins_of(a.sets, "expect")), runner_for(ctx), pool);
  pool.progress = nullptr;
  write_stdout(render(report, a.format));
  if (!a.junit.empty())
    report::write_file(a.junit,
                       report::to_junit("hvsim check", experiment::to_junit_cases(report)));
  // A guard that guards nothing must not pass.
  if (report.rows.empty()) throw exit_error(exit_no_input, "no expectations found");
  if (const auto cause = report.cause()) return exit_code_of(cause);
  return report.ok() ? exit_ok : exit_failed;
}

}  // namespace

void add_check(CLI::App& app, context& ctx) {
  auto a = std::make_shared<check_arguments>();
  auto* sub = app.add_subcommand("check", "run scenarios and hold them to their expectations");
  sub->add_option("PATH", a->paths, "scenarios, names of built-in ones, or folders")->required();
  add_sets(*sub, a->sets);
  add_text(*sub, "--junit", a->junit, "also write JUnit XML", "FILE");
  add_format(*sub, a->format, {"text", "json", "csv"});
  add_jobs(*sub, a->jobs);
  sub->callback([&ctx, a] { ctx.action = [&ctx, a] { return check_command(ctx, *a); }; });
}

}  // namespace hvsim::tools
