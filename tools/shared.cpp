// SPDX-License-Identifier: Apache-2.0
// What several subcommands need: scenarios in, provenance, standard output.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <system_error>

#include "sim/experiment/rules.hpp"
#include "sim/report/errors.hpp"
#include "sim/scenario/parse.hpp"
#include "sim/scenario/render.hpp"
#include "tools/commands.hpp"
#include "tools/embedded.hpp"
#include "tools/version.hpp"

namespace hvsim::tools {

scenario::scenario load_scenario(const context& ctx, const std::string& file,
                                 const std::vector<std::string>& sets) {
  scenario::parsed<scenario::scenario> result;
  std::error_code ec;
  const embedded_file* built_in = nullptr;
  if (file == "-") {
    std::string text{std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
    result =
        scenario::parse_text(text, "<stdin>", ctx.catalogue, sets, experiment::builtin_rules());
  } else if (!std::filesystem::exists(file, ec) && (built_in = find_embedded(file)) != nullptr) {
    result = scenario::parse_text(built_in->text, built_in->path, ctx.catalogue, sets,
                                  experiment::builtin_rules());
  } else {
    result = scenario::parse_file(file, ctx.catalogue, sets, experiment::builtin_rules());
  }
  if (!result)
    throw exit_error(result.unreadable ? exit_no_input : exit_bad_scenario,
                     scenario::to_text(result.errors, result.sources, ctx.use_color()));
  return std::move(*result.value);
}

void stamp(report::run_result& result, const context& ctx, double wall_seconds) {
  auto& source = result.source;
  source.version = version_text();
  source.git = git_text();
  source.compiler = compiler_text();
  source.build_type = build_type_text();
  source.command_line.clear();
  for (const auto& argument : ctx.arguments) {
    if (!source.command_line.empty()) source.command_line += ' ';
    bool plain = !argument.empty() &&
                 argument.find_first_of(" \t\n'\"\\$`*?[]{}()&|;<>!#~") == std::string::npos;
    source.command_line += plain ? argument : "'" + argument + "'";
  }
  utsname host{};
  if (uname(&host) == 0) source.host = fmt::format("{} {}", host.sysname, host.machine);
  source.wall_seconds = wall_seconds;
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0)
    source.peak_rss_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

void write_stdout(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw report::output_error("standard output: " + std::generic_category().message(errno));
}

CLI::Option* add_format(CLI::App& app, std::string& into, const std::vector<std::string>& choices) {
  return app.add_option("--format", into, "format of the output")
      ->check(CLI::IsMember(choices))
      ->capture_default_str();
}

}  // namespace hvsim::tools
