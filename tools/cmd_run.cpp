// SPDX-License-Identifier: Apache-2.0
// hvsim run FILE
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <exception>
#include <filesystem>
#include <memory>

#include "sim/experiment/run.hpp"
#include "sim/report/atomic_file.hpp"
#include "sim/report/render.hpp"
#include "sim/scenario/parse.hpp"
#include "tools/commands.hpp"
#include "tools/terminal.hpp"

namespace hvsim::tools {
namespace {

struct run_arguments {
  std::string file;
  std::vector<std::string> sets;
  std::string output;
  std::string format = "text";
  std::string ftrace;
  std::string seed;
  bool print_config = false;
};

// A scenario's name is free text; a file's name is not.
std::string file_stem(const std::string& name) {
  std::string out;
  for (char c : name) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 c == '-' || c == '_' || c == '+' || (c == '.' && !out.empty());
    out += plain ? c : '_';
  }
  constexpr std::size_t longest = 128;
  return out.empty() ? "result" : out.substr(0, longest);
}

std::string render(const report::run_result& result, const std::string& format) {
  if (format == "json") return report::to_json(result).dump(2) + "\n";
  if (format == "csv") {
    std::string out = report::csv_header();
    if (!out.ends_with('\n')) out += '\n';
    return out + report::to_csv(result, result.name);
  }
  return report::to_text(result);
}

/// The files of a run in `folder`, with their formats.
std::vector<std::pair<std::filesystem::path, std::string>> files_in(const std::string& folder,
                                                                    const std::string& name) {
  std::vector<std::pair<std::filesystem::path, std::string>> out;
  for (const auto& [ending, format] :
       {std::pair{".json", "json"}, std::pair{".csv", "csv"}, std::pair{".txt", "text"}})
    out.emplace_back(std::filesystem::path(folder) / (file_stem(name) + ending), format);
  return out;
}

void write_folder(const report::run_result& result, const std::string& folder) {
  for (const auto& [path, format] : files_in(folder, result.name)) {
    report::write_file(path, render(result, format));
    spdlog::info("wrote {}", path.string());
  }
}

/// The files that a run reads.
std::vector<std::string> inputs_of(const std::string& file, const scenario::scenario& s) {
  std::vector<std::string> out{file};
  const std::filesystem::path folder = std::filesystem::path(s.file).parent_path();
  for (const char* key : {"machine.profile", "workload.file"}) {
    const auto at = s.texts.find(key);
    // The name of a built-in machine is no file.
    const bool named = std::string_view(key) == "machine.profile" && at != s.texts.end() &&
                       !at->second.ends_with(".yaml") && !at->second.ends_with(".yml");
    if (at != s.texts.end() && !named) out.push_back((folder / at->second).string());
  }
  return out;
}

/// Throws exit_error or output_error for outputs that cannot be.
void require_outputs(const context& ctx, const run_arguments& a, const scenario::scenario& s) {
  for (const auto& w : ctx.catalogue.workloads)
    if (!a.ftrace.empty() && w.name == s.workload && w.guest_kernel)
      throw exit_error(exit_usage,
                       fmt::format("--ftrace: the workload '{}' has no stage-2 faults", w.name));
  std::vector<output_path> outputs;
  if (!a.ftrace.empty()) outputs.push_back({"--ftrace", a.ftrace});
  if (!a.output.empty())
    for (const auto& [path, format] : files_in(a.output, s.name))
      outputs.push_back({"-o", path.string()});
  for (const output_path& o : outputs)
    for (const std::string& input : inputs_of(a.file, s))
      refuse_overwriting(input, o.option, o.path);
  refuse_collisions(outputs);
  for (const output_path& o : outputs) report::require_writable(o.path);
}

int run_command(const context& ctx, const run_arguments& a) {
  std::vector<std::string> sets = a.sets;
  if (!a.seed.empty()) sets.push_back("seed=" + a.seed);
  override_origins from;
  if (!a.seed.empty()) from.by_set[sets.back()] = {{"--seed", 0, 0}};
  const scenario::scenario s =
      load_scenario(ctx, a.file, sets, from, a.print_config ? purpose::look : purpose::run);
  warn_about(s);
  ctx.warnings->show();
  if (a.print_config) {
    write_stdout(scenario::to_yaml(s));
    return exit_ok;
  }
  require_outputs(ctx, a, s);
  report::run_result result;
  std::exception_ptr ftrace_refused;
  auto start = std::chrono::steady_clock::now();
  {
    progress_line line(ctx, s.name);
    experiment::run_options options;
    options.progress = [&](double fraction) { line.update(fraction); };
    options.ftrace_file = a.ftrace;
    options.ftrace_refused = &ftrace_refused;
    options.stop = ctx.stop;
    result = experiment::run(s, options);
  }
  std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  stamp(result, ctx, wall.count());
  print_and_store([&] { write_stdout(render(result, a.format)); },
                  [&] {
                    if (!a.output.empty()) write_folder(result, a.output);
                  });
  if (ftrace_refused) std::rethrow_exception(ftrace_refused);
  return exit_ok;
}

}  // namespace

void add_run(CLI::App& app, context& ctx) {
  auto a = std::make_shared<run_arguments>();
  auto* sub = app.add_subcommand("run", "run one scenario and print its results");
  sub->add_option("FILE", a->file, "scenario, the name of a built-in one, or - for standard input")
      ->required();
  add_sets(*sub, a->sets);
  add_text(*sub, "-o,--output", a->output, "also write JSON, CSV and text into this folder", "DIR");
  add_format(*sub, a->format, {"text", "json", "csv"});
  sub->add_flag("--print-config", a->print_config, "print the effective scenario and stop");
  add_text(*sub, "--ftrace", a->ftrace, "write the fault stream as kvm_guest_fault lines", "FILE");
  add_text(*sub, "--seed", a->seed, "same as --set seed=N", "N");
  sub->callback([&ctx, a] { ctx.action = [&ctx, a] { return run_command(ctx, *a); }; });
}

}  // namespace hvsim::tools
