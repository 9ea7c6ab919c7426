// SPDX-License-Identifier: Apache-2.0
// What the subcommands that make many runs share.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "sim/experiment/pool.hpp"
#include "sim/experiment/published.hpp"
#include "sim/experiment/run.hpp"
#include "sim/experiment/source.hpp"
#include "sim/report/errors.hpp"
#include "tools/commands.hpp"
#include "tools/embedded.hpp"
#include "tools/terminal.hpp"

namespace hvsim::tools {

/// Loads scenarios as `run` does. What is wrong with one is a config_error, so that a check of many
/// files can go on.
inline experiment::loader loader_for(const context& ctx) {
  return [&ctx](const std::string& file, const std::vector<std::string>& sets) {
    try {
      return load_scenario(ctx, file, sets);
    } catch (const exit_error& e) {
      throw experiment::config_error(e.what());
    }
  };
}

/// Runs scenarios and stamps the provenance of each result.
inline experiment::runner runner_for(const context& ctx) {
  return [&ctx](const scenario::scenario& s, const experiment::run_options& options) {
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

inline void add_sets(CLI::App& app, std::vector<std::string>& into) {
  app.add_option("--set", into, "override a key after the file (repeatable)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
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

inline std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in) throw exit_error(exit_no_input, path + ": cannot be read");
  return text;
}

/// A published comparison: a file, or the name of a built-in one.
inline experiment::published load_published(const std::string& name) {
  std::error_code ec;
  if (std::filesystem::is_regular_file(name, ec))
    return experiment::parse_published(read_text(name), name);
  if (const embedded_file* file = find_embedded("published/" + name))
    return experiment::parse_published(file->text, file->path);
  std::string known;
  constexpr std::string_view folder = "configs/published/";
  for (const embedded_file& file : embedded_files())
    if (file.path.starts_with(folder) && file.path.find('/', folder.size()) == std::string::npos)
      known += "\n  " + file.path.substr(folder.size(), file.path.size() - folder.size() - 5);
  throw exit_error(exit_no_input, "no published comparison '" + name + "'. Known:" + known);
}

}  // namespace hvsim::tools
