// SPDX-License-Identifier: Apache-2.0
// hvsim validate FILE|DIR...
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "sim/experiment/check.hpp"
#include "sim/experiment/published.hpp"
#include "sim/report/errors.hpp"
#include "sim/scenario/parse.hpp"
#include "sim/scenario/render.hpp"
#include "sim/scenario/units.hpp"
#include "tools/commands.hpp"

namespace hvsim::tools {
namespace {

namespace fs = std::filesystem;

struct validate_arguments {
  std::vector<std::string> paths;
  std::vector<std::string> sets;
};

std::vector<std::string> files_below(const std::string& folder) {
  std::vector<std::string> files = experiment::yaml_files(folder);
  if (files.empty())
    throw exit_error(exit_no_input, folder + ": there is no .yaml file in this folder");
  return files;
}

enum class file_kind { scenario, machine_profile, published_table };

/// How many of `keys` are among `words`, or nearly so: a file is wrong in one place at a time.
std::size_t resemblance(const std::vector<std::string>& keys,
                        const std::vector<std::string>& words) {
  std::size_t points = 0;
  for (const std::string& key : keys) {
    if (std::find(words.begin(), words.end(), key) != words.end())
      points += 2;
    else if (scenario::nearest(key, words))
      points += 1;
  }
  return points;
}

/// By the words that only one kind of file has at its top; a scenario in case of doubt.
file_kind kind_of(const std::vector<std::string>& keys, const registry::catalogue& catalogue) {
  std::vector<std::string> of_scenario{"workload", "expect"};
  for (const auto& p : catalogue.common) of_scenario.push_back(p.key.substr(0, p.key.find('.')));
  const std::size_t scene = resemblance(keys, of_scenario);
  const std::size_t profile = resemblance(keys, {"topology", "features", "costs"});
  const std::size_t table =
      resemblance(keys, {"title", "source", "placement", "mean_of_seeds", "runs", "tables"});
  if (scene >= profile && scene >= table) return file_kind::scenario;
  return profile >= table ? file_kind::machine_profile : file_kind::published_table;
}

template <class T>
void require(const scenario::parsed<T>& p, const context& ctx) {
  if (p) return;
  throw exit_error(p.unreadable ? exit_no_input : exit_bad_scenario,
                   scenario::to_text(p.errors, p.sources, ctx.use_color()));
}

/// Throws what is wrong.
void check(const context& ctx, const std::string& file, const std::vector<std::string>& sets) {
  const input_text in = read_input(file);
  switch (kind_of(scenario::top_keys(in.text, in.name), ctx.catalogue)) {
    case file_kind::published_table:
      (void)experiment::parse_published(in.text, in.name);
      break;
    case file_kind::machine_profile:
      require(scenario::parse_machine_text(in.text, in.name, ctx.catalogue), ctx);
      break;
    case file_kind::scenario:
      warn_about(load_scenario(ctx, file, sets, {}, purpose::look));
      break;
  }
}

int validate_command(const context& ctx, const validate_arguments& a) {
  std::vector<std::string> files;
  for (const auto& path : a.paths) {
    std::error_code ec;
    if (fs::is_directory(path, ec)) {
      auto below = files_below(path);
      files.insert(files.end(), below.begin(), below.end());
    } else {
      files.push_back(path);
    }
  }
  std::size_t bad = 0;
  int code = exit_ok;
  for (const auto& file : files) {
    try {
      check(ctx, file, a.sets);
    } catch (const report::output_error&) {
      throw;
    } catch (const std::runtime_error& e) {
      ++bad;
      const std::string_view what = e.what();
      std::cerr << what << (what.ends_with('\n') ? "" : "\n");
      if (code == exit_ok) code = exit_code_of(std::current_exception());
      continue;
    }
    if (!ctx.quiet) write_stdout(file + ": ok\n");
  }
  ctx.warnings->show();
  if (bad != 0 && !ctx.quiet)
    std::cerr << fmt::format("{} of {} files are wrong\n", bad, files.size());
  return code;
}

}  // namespace

void add_validate(CLI::App& app, context& ctx) {
  auto a = std::make_shared<validate_arguments>();
  auto* sub = app.add_subcommand(
      "validate", "check scenarios, machine profiles and published tables; run nothing");
  sub->add_option("PATH", a->paths,
                  "files, names of built-in ones, or folders whose .yaml files are checked")
      ->required();
  add_sets(*sub, a->sets);
  sub->callback([&ctx, a] { ctx.action = [&ctx, a] { return validate_command(ctx, *a); }; });
}

}  // namespace hvsim::tools
