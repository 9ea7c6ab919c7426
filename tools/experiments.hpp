// SPDX-License-Identifier: Apache-2.0
// What the subcommands that make many runs share.
#pragma once

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "sim/experiment/pool.hpp"
#include "sim/experiment/published.hpp"
#include "sim/experiment/run.hpp"
#include "sim/experiment/source.hpp"
#include "sim/report/errors.hpp"
#include "sim/scenario/units.hpp"
#include "tools/commands.hpp"
#include "tools/embedded.hpp"
#include "tools/terminal.hpp"

namespace hvsim::tools {

/// Loads scenarios as `run` does. What is wrong with one is a config_error, so that a check of many
/// files can go on.
inline experiment::loader loader_for(const context& ctx, override_origins from = {}) {
  return [&ctx, from = std::move(from)](const std::string& file,
                                        const std::vector<std::string>& sets) {
    try {
      return load_scenario(ctx, file, sets, from);
    } catch (const exit_error& e) {
      if (e.code() == exit_usage) throw experiment::usage_error(e.what());
      if (e.code() == exit_no_input) throw experiment::missing_input(e.what());
      if (e.code() == exit_bad_data) throw report::input_error(e.what());
      throw experiment::config_error(e.what());
    }
  };
}

/// The size that --scale divides.
inline override_origins origins_of_scale(const experiment::published& paper, std::int64_t scale) {
  override_origins from;
  for (const auto& table : paper.tables)
    if (scale > 1 && !table.size_key.empty()) from.by_set[table.size_key] = {{"--scale", 0, 0}};
  return from;
}

/// The user's overrides, everything else from `other`.
inline override_origins origins_of(const std::vector<std::string>& sets, std::string other,
                                   override_origins from = {}) {
  for (const std::string& set : sets) from.by_set[set] = {{"--set", 0, 0}};
  from.otherwise = {{std::move(other), 0, 0}};
  return from;
}

/// Runs scenarios and stamps the provenance of each result. The first run comes after all that are
/// planned have been loaded: then it is known which keys none of them reads.
inline experiment::runner runner_for(const context& ctx) {
  return [&ctx](const scenario::scenario& s, const experiment::run_options& options) {
    ctx.warnings->show();
    const auto start = std::chrono::steady_clock::now();
    report::run_result result = experiment::run(s, options);
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
    stamp(result, ctx, wall.count());
    return result;
  };
}

/// Adds --jobs; `into` keeps the default.
inline void add_jobs(CLI::App& app, unsigned& into) {
  into = std::max(1U, std::thread::hardware_concurrency());
  app.add_option("-j,--jobs", into, "runs at a time; changes no result")
      ->type_name("N")
      ->check(CLI::Range(1U, 1024U));
}

/// A pool with a progress line that lives as long as the returned options.
inline experiment::pool_options pool_for(const context& ctx, unsigned jobs,
                                         const std::string& label) {
  experiment::pool_options pool;
  pool.jobs = jobs;
  pool.stop = ctx.stop;
  const auto line = std::make_shared<progress_line>(ctx, label);
  pool.progress = [line](const experiment::pool_progress& p) { line->update(p.fraction); };
  return pool;
}

/// The published comparisons inside the program.
inline std::vector<std::string> published_names() {
  std::vector<std::string> names;
  constexpr std::string_view folder = "configs/published/";
  for (const embedded_file& file : embedded_files())
    if (file.path.starts_with(folder) && file.path.find('/', folder.size()) == std::string::npos)
      names.push_back(file.path.substr(folder.size(), file.path.size() - folder.size() - 5));
  return names;
}

/// "a built-in comparison: one, another, a third" for help texts.
inline std::string names_of_published() {
  return fmt::format("a built-in comparison: {}", fmt::join(published_names(), ", "));
}

/// A published comparison: a file, or the name of a built-in one.
inline experiment::published load_published(const std::string& name) {
  std::error_code ec;
  if (!name.empty() && !std::filesystem::exists(name, ec)) {
    const std::vector<std::string> known = published_names();
    for (const std::string& one : known) {
      const embedded_file* file = find_embedded("published/" + one);
      if (file == find_embedded(name) || one == name)
        return experiment::parse_published(file->text, file->path);
    }
    throw exit_error(exit_no_input, scenario::unknown_word("published comparison", name, known));
  }
  const input_text in = read_input(name);
  return experiment::parse_published(in.text, in.name);
}

}  // namespace hvsim::tools
