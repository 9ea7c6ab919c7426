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

bool has_key(const registry::node& tree, std::string_view key) {
  return std::any_of(tree.members.begin(), tree.members.end(),
                     [&](const auto& m) { return m.first.scalar == key; });
}

template <class T>
void require(const scenario::parsed<T>& p, const context& ctx) {
  if (p) return;
  throw exit_error(p.unreadable ? exit_no_input : exit_bad_scenario,
                   scenario::to_text(p.errors, p.sources, ctx.use_color()));
}

// What a file is follows from its keys: a published table has tables, a machine profile has costs
// and no workload, everything else should be a scenario. Throws what is wrong.
void check(const context& ctx, const std::string& file, const std::vector<std::string>& sets) {
  const input_text in = read_input(file);
  const auto tree = scenario::parse_tree(in.text, in.name);
  if (tree && has_key(*tree.value, "tables"))
    (void)experiment::parse_published(in.text, in.name);
  else if (tree && has_key(*tree.value, "costs") && !has_key(*tree.value, "workload"))
    require(scenario::parse_machine_text(in.text, in.name, ctx.catalogue), ctx);
  else
    warn_about(load_scenario(ctx, file, sets));
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
