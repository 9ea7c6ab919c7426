// SPDX-License-Identifier: Apache-2.0
// hvsim reproduce NAME
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <filesystem>

#include "sim/experiment/reproduce_render.hpp"
#include "sim/report/atomic_file.hpp"
#include "tools/experiments.hpp"

namespace hvsim::tools {
namespace {

struct reproduce_arguments {
  std::string name;
  experiment::reproduce_options options;
  std::string output;
  std::string format = "text";
  unsigned jobs = 1;
  bool no_files = false;
};

std::string render(const experiment::reproduction& r, const std::string& format) {
  if (format == "csv") return experiment::to_csv(r);
  if (format == "json") return experiment::to_json(r).dump(2) + "\n";
  if (format == "markdown") return experiment::to_markdown(r);
  return experiment::to_text(r);
}

/// One for each comparison and scale, so that a quick look replaces no full result.
std::string default_folder(const experiment::published& paper,
                           const experiment::reproduce_options& options) {
  const std::string scaled = options.scale == 1 ? "" : fmt::format("-scale-{}", options.scale);
  const std::string name = std::filesystem::path(paper.name).filename().string();
  return fmt::format("out/{}{}", name, scaled);
}

int reproduce_command(const context& ctx, const reproduce_arguments& a) {
  const experiment::published paper = load_published(a.name);
  const std::string output = a.output.empty() ? default_folder(paper, a.options) : a.output;
  if (!a.no_files) report::require_writable_folder(output);
  experiment::reproduction result;
  {
    experiment::reproduce_options options = a.options;
    options.pool = pool_for(ctx, a.jobs, paper.name);
    options.cost_table = ctx.catalogue.costs;
    result = experiment::reproduce(
        paper,
        loader_for(ctx,
                   origins_of(options.sets, paper.name, origins_of_scale(paper, options.scale))),
        runner_for(ctx), options);
    result.options.pool.progress = nullptr;
  }
  // Neither a folder that cannot be written nor a closed pipe may cost the other.
  print_and_store([&] { write_stdout(render(result, a.format)); },
                  [&] {
                    if (a.no_files) return;
                    // What an interrupted run has finished must not replace a whole result.
                    const bool stopped = ctx.stop != nullptr && ctx.stop->load();
                    const std::string folder = stopped ? output + ".interrupted" : output;
                    experiment::write_files(result, folder);
                    spdlog::info("wrote {}", folder);
                  });
  for (const std::string& failure : result.failures) spdlog::error("{}", failure);
  return result.failures.empty() ? exit_ok : exit_failed;
}

}  // namespace

void add_reproduce(CLI::App& app, context& ctx) {
  auto a = std::make_shared<reproduce_arguments>();
  auto* sub = app.add_subcommand("reproduce", "run a published comparison beside its numbers");
  sub->add_option("NAME", a->name, "a file, or " + names_of_published())->required();
  add_sets(*sub, a->options.sets);
  sub->add_option("--table", a->options.tables, "only these tables")->delimiter(',');
  sub->add_option("--placement", a->options.placements, "where vCPUs run: compact,spread")
      ->delimiter(',');
  sub->add_option("--seeds", a->options.seeds, "runs of each cell; marks cells that move")
      ->type_name("N")
      ->check(CLI::Range(1, 1000));
  sub->add_option("--seed-scale", a->options.seed_scale,
                  "divide memory sizes of the runs that compare seeds")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20));
  sub->add_option("--scale", a->options.scale, "divide memory sizes, multiply times (a quick look)")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20));
  add_text(*sub, "-o,--output", a->output,
           "folder of the files (default: out/NAME, with the scale if there is one)", "DIR");
  sub->add_flag("--no-files", a->no_files, "print only");
  add_format(*sub, a->format, {"text", "markdown", "csv", "json"});
  add_jobs(*sub, a->jobs);
  sub->callback([&ctx, a] { ctx.action = [&ctx, a] { return reproduce_command(ctx, *a); }; });
}

}  // namespace hvsim::tools
