// SPDX-License-Identifier: Apache-2.0
// hvsim validate FILE|DIR...
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "sim/experiment/published.hpp"
#include "sim/experiment/source.hpp"
#include "sim/scenario/parse.hpp"
#include "sim/scenario/render.hpp"
#include "tools/commands.hpp"
#include "tools/embedded.hpp"

namespace hvsim::tools {
namespace {

namespace fs = std::filesystem;

struct validate_arguments {
  std::vector<std::string> paths;
  std::vector<std::string> sets;
};

// The .yaml files below a folder in a fixed order.
std::vector<std::string> files_below(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code ec;
  fs::recursive_directory_iterator it(folder, ec);
  if (ec) throw exit_error(exit_no_input, folder + ": cannot read: " + ec.message());
  for (; it != fs::recursive_directory_iterator(); it.increment(ec)) {
    if (ec) throw exit_error(exit_no_input, folder + ": cannot read: " + ec.message());
    auto ending = it->path().extension();
    if (it->is_regular_file() && (ending == ".yaml" || ending == ".yml"))
      files.push_back(it->path().string());
  }
  std::sort(files.begin(), files.end());
  if (files.empty())
    throw exit_error(exit_no_input, folder + ": there is no .yaml file in this folder");
  return files;
}

struct verdict {
  std::vector<registry::diagnostic> errors;
  scenario::source_texts sources;
  bool unreadable = false;
};

template <class T>
verdict verdict_of(scenario::parsed<T> p) {
  return {std::move(p.errors), std::move(p.sources), p.unreadable};
}

bool has_key(const registry::node& tree, std::string_view key) {
  return std::any_of(tree.members.begin(), tree.members.end(),
                     [&](const auto& m) { return m.first.scalar == key; });
}

// What a file is follows from its keys: a published table has tables, a machine profile has costs
// and no workload, everything else should be a scenario.
verdict check_text(const context& ctx, const std::string& text, const std::string& file,
                   const std::vector<std::string>& sets) {
  auto tree = scenario::parse_tree(text, file);
  if (tree && has_key(*tree.value, "tables")) {
    experiment::parse_published(text, file);
    return {};
  }
  if (tree && has_key(*tree.value, "costs") && !has_key(*tree.value, "workload"))
    return verdict_of(scenario::parse_machine_text(text, file, ctx.catalogue));
  return verdict_of(scenario::parse_text(text, file, ctx.catalogue, sets));
}

verdict check(const context& ctx, const std::string& file, const std::vector<std::string>& sets) {
  std::error_code ec;
  if (!fs::exists(file, ec))
    if (const embedded_file* e = find_embedded(file))
      return check_text(ctx, e->text, e->path, sets);
  auto text = scenario::read_text(file);
  if (!text) return verdict_of(std::move(text));
  return check_text(ctx, *text.value, file, sets);
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
  bool unreadable = false;
  for (const auto& file : files) {
    verdict v;
    try {
      v = check(ctx, file, a.sets);
    } catch (const experiment::config_error& e) {
      // The reader of published tables has rendered its complaints already.
      ++bad;
      std::string_view what = e.what();
      std::cerr << what << (what.ends_with('\n') ? "" : "\n");
      continue;
    }
    if (v.errors.empty()) {
      if (!ctx.quiet) write_stdout(file + ": ok\n");
      continue;
    }
    ++bad;
    unreadable = unreadable || v.unreadable;
    std::cerr << scenario::to_text(v.errors, v.sources, ctx.use_color());
  }
  if (bad == 0) return exit_ok;
  if (!ctx.quiet) std::cerr << fmt::format("{} of {} files are wrong\n", bad, files.size());
  return unreadable ? exit_no_input : exit_bad_scenario;
}

}  // namespace

void add_validate(CLI::App& app, context& ctx) {
  auto a = std::make_shared<validate_arguments>();
  auto* sub = app.add_subcommand(
      "validate", "check scenarios, machine profiles and published tables; run nothing");
  sub->add_option("PATH", a->paths, "files, or folders whose .yaml files are checked")->required();
  sub->add_option("--set", a->sets, "override a key after the file (repeatable)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  sub->callback([&ctx, a] { ctx.action = [&ctx, a] { return validate_command(ctx, *a); }; });
}

}  // namespace hvsim::tools
