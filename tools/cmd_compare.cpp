// SPDX-License-Identifier: Apache-2.0
// hvsim compare FILE --vary KEY=A,B
#include <spdlog/spdlog.h>

#include <optional>

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

report::json_source read_stored(const std::string& path) {
  constexpr std::size_t limit = std::size_t{1} << 30;
  const auto text = scenario::read_text(path, limit);
  if (!text)
    throw exit_error(text.unreadable ? exit_no_input : exit_bad_data,
                     scenario::to_text(text.errors, text.sources));
  return {path, *text.value};
}

/// The comparison that --baseline names, and what of it the request takes over.
class stored_comparison {
 public:
  explicit stored_comparison(const std::string& path)
      : source_(read_stored(path)), content_(experiment::comparison_from_json(source_)) {}

  [[nodiscard]] const experiment::comparison& content() const { return content_; }

  /// Fills in what the user did not say.
  void complete(experiment::compare_request& request) {
    if (request.axes.empty()) {
      request.axes = content_.axes;
      request.axes_from = source_.file();
      gives_axes_ = true;
    }
    if (request.metrics.empty()) {
      request.metrics = content_.metrics;
      gives_metrics_ = true;
    }
  }

  void add_origins(override_origins& from) const {
    if (!gives_axes_) return;
    const report::json_place axes("/axes");
    for (std::size_t a = 0; a < content_.axes.size(); ++a)
      for (std::size_t v = 0; v < content_.axes[a].values.size(); ++v)
        from.by_set[content_.axes[a].key + "=" + content_.axes[a].values[v]] = {
            source_.where(axes / a / "values" / v), true};
  }

  /// Throws input_error if this file, and not the command line, asked for what cannot be.
  void take_blame(const experiment::request_error& e) const {
    if (!e.metric() && gives_axes_) source_.refuse({{report::json_place("/axes"), e.reason()}});
    if (e.metric() && gives_metrics_)
      source_.refuse({{report::json_place("/metrics") / *e.metric(), e.reason()}});
  }

 private:
  report::json_source source_;
  experiment::comparison content_;
  bool gives_axes_ = false;
  bool gives_metrics_ = false;
};

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
  std::optional<stored_comparison> before;
  override_origins from;
  for (const auto& axis : request.axes) from.by_set[axis.key] = {{"--vary", 0, 0}};
  if (!a.baseline.empty()) {
    before.emplace(a.baseline);
    before->complete(request);
    before->add_origins(from);
  }
  for (const std::string& input : {request.file, a.baseline})
    refuse_overwriting(input, "--save", a.save);
  if (!a.save.empty()) report::require_writable(a.save);
  request.pool = pool_for(ctx, a.jobs, "compare");
  const experiment::comparison now = [&] {
    try {
      return experiment::compare(request, loader_for(ctx, from), runner_for(ctx));
    } catch (const experiment::request_error& e) {
      if (before) before->take_blame(e);
      throw;
    }
  }();
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
  if (!before) return now.complete() ? exit_ok : exit_failed;
  const auto all = experiment::deviations(now, before->content(), tolerance);
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
