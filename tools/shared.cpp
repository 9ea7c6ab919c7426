// SPDX-License-Identifier: Apache-2.0
// What several subcommands need: scenarios in, provenance, standard output.
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <system_error>
#include <utility>

#include "sim/experiment/memory_need.hpp"
#include "sim/experiment/rules.hpp"
#include "sim/experiment/source.hpp"
#include "sim/report/errors.hpp"
#include "sim/scenario/parse.hpp"
#include "sim/scenario/render.hpp"
#include "sim/scenario/unread.hpp"
#include "tools/commands.hpp"
#include "tools/embedded.hpp"
#include "tools/version.hpp"

namespace hvsim::tools {

namespace {

const override_origin& origin_of(const std::string& set, const override_origins& from) {
  for (const std::string& name : {set, set.substr(0, set.find('='))})
    if (const auto at = from.by_set.find(name); at != from.by_set.end()) return at->second;
  return from.otherwise;
}

/// In the form of errors, for editors that find places by it.
void warn(const registry::diagnostic& d) {
  if (spdlog::should_log(spdlog::level::warn))
    std::cerr << scenario::to_line(d, scenario::severity::warning) + "\n";
}

/// Where an override that stands at {"--set", 0, its number} came from.
override_origin origin_of(const registry::position& where, const std::vector<std::string>& sets,
                          const override_origins& from) {
  const auto number = static_cast<std::size_t>(where.column);
  return number != 0 && number <= sets.size() ? origin_of(sets[number - 1], from) : from.otherwise;
}

/// Names what brought in the overrides that are wrong, and returns what the program returns.
exit_code blame(scenario::parsed<scenario::scenario>& wrong, const std::vector<std::string>& sets,
                const override_origins& from) {
  bool stored = false;
  bool options_alone = true;
  for (registry::diagnostic& d : wrong.errors) {
    if (d.where.file != "--set") {
      options_alone = false;
      continue;
    }
    const override_origin origin = origin_of(d.where, sets, from);
    d.where = origin.where;
    stored = stored || origin.stored;
    options_alone = options_alone && d.where.file.starts_with("--");
  }
  if (wrong.unreadable) return exit_no_input;
  return stored ? exit_bad_data : options_alone ? exit_usage : exit_bad_scenario;
}

}  // namespace

exit_code exit_code_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const exit_error& e) {
    return e.code();
  } catch (const experiment::usage_error&) {
    return exit_usage;
  } catch (const experiment::missing_input&) {
    return exit_no_input;
  } catch (const experiment::config_error&) {
    return exit_bad_scenario;
  } catch (const report::output_error&) {
    return exit_output;
  } catch (const report::input_error&) {
    return exit_bad_data;
  } catch (const std::logic_error&) {
    return exit_internal;
  } catch (...) {
    return exit_failed;
  }
}

input_text read_input(const std::string& file) {
  if (file.empty()) throw exit_error(exit_usage, "a file's name is empty");
  std::error_code ec;
  if (file != "-" && !std::filesystem::exists(file, ec))
    if (const embedded_file* built_in = find_embedded(file))
      return {built_in->path, built_in->text};
  auto text = scenario::read_text(file);
  if (!text)
    throw exit_error(text.unreadable ? exit_no_input : exit_bad_scenario,
                     scenario::to_text(text.errors, text.sources));
  return {file == "-" ? "<stdin>" : file, std::move(*text.value)};
}

scenario::scenario load_scenario(const context& ctx, const std::string& file,
                                 const std::vector<std::string>& sets, const override_origins& from,
                                 purpose why) {
  const input_text in = read_input(file);
  std::vector<scenario::rule> rules = experiment::builtin_rules();
  if (why == purpose::run)
    for (scenario::rule& r : experiment::memory_rules(experiment::memory_of_computer()))
      rules.push_back(std::move(r));
  auto result = scenario::parse_text(in.text, in.name, ctx.catalogue, sets, rules);
  if (result) {
    ctx.warnings->note(*result.value, ctx.catalogue, sets, from);
    return std::move(*result.value);
  }
  const exit_code code = blame(result, sets, from);
  throw exit_error(code, scenario::to_text(result.errors, result.sources, ctx.use_color()));
}

void warn_about(const scenario::scenario& s) {
  std::vector<scenario::rule> rules = experiment::builtin_warnings();
  for (scenario::rule& r : experiment::memory_rules(experiment::memory_of_computer()))
    rules.push_back(std::move(r));
  for (const scenario::rule& r : rules)
    if (const auto message = r.check(s)) warn({s.where(r.key), r.key, *message});
}

void warning_list::note(const scenario::scenario& s, const registry::catalogue& catalogue,
                        const std::vector<std::string>& sets, const override_origins& from) {
  std::map<std::string, std::string, std::less<>> unread;
  for (const registry::diagnostic& d : scenario::unread_keys(s, catalogue))
    unread[d.path] = d.message;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, position] : s.positions) {
    const registry::position where =
        position.file == "--set" ? origin_of(position, sets, from).where : position;
    const auto known = std::find_if(keys_.begin(), keys_.end(), [&, k = key](const written& w) {
      const registry::position& at = w.warning.where;
      return w.warning.path == k && at.file == where.file && at.line == where.line &&
             at.column == where.column;
    });
    const auto message = unread.find(key);
    if (known == keys_.end())
      keys_.push_back({{where, key, message == unread.end() ? "" : message->second}});
    else if (message == unread.end())
      known->warning.message.clear();
  }
}

void warning_list::show() {
  const std::lock_guard lock(mutex_);
  for (written& w : keys_) {
    if (w.warning.message.empty() || std::exchange(w.told, true)) continue;
    warn(w.warning);
  }
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

CLI::Option* add_sets(CLI::App& app, std::vector<std::string>& into) {
  return app.add_option("--set", into, "override a key after the file (repeatable)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->check(CLI::Validator(
          [](const std::string& text) {
            return scenario::split_set(text) ? std::string()
                                             : "'" + text + "' is not of the form dotted.key=value";
          },
          "", "setting"));
}

CLI::Option* add_text(CLI::App& app, const std::string& names, std::string& into,
                      const std::string& help, const std::string& type) {
  return app.add_option(names, into, help)
      ->type_name(type)
      ->check(CLI::Validator(
          [](const std::string& name) {
            return name.empty() ? std::string("the value is empty") : std::string();
          },
          "", "text"));
}

CLI::Option* add_format(CLI::App& app, std::string& into, const std::vector<std::string>& choices) {
  return app.add_option("--format", into, "format of the output")
      ->check(CLI::IsMember(choices))
      ->capture_default_str();
}

void refuse_overwriting(const std::string& input, const std::string& option,
                        const std::string& output) {
  std::error_code unknown;
  if (!output.empty() && std::filesystem::equivalent(input, output, unknown))
    throw exit_error(exit_usage, option + " would overwrite " + input);
}

void refuse_collisions(const std::vector<output_path>& outputs) {
  namespace fs = std::filesystem;
  const auto whole = [](const std::string& path) {
    std::error_code ec;
    fs::path out = fs::weakly_canonical(fs::absolute(path, ec), ec);
    return ec ? fs::path(path) : out;
  };
  // Equal, or the one stands on the way to the other.
  const auto begins = [](const fs::path& with, const fs::path& path) {
    return std::mismatch(with.begin(), with.end(), path.begin(), path.end()).first == with.end();
  };
  for (auto a = outputs.begin(); a != outputs.end(); ++a)
    for (auto b = outputs.begin(); b != a; ++b) {
      const fs::path one = whole(a->path);
      const fs::path other = whole(b->path);
      if (begins(one, other) || begins(other, one))
        throw exit_error(exit_usage, fmt::format("{} {} and {} {} are in each other's way",
                                                 b->option, b->path, a->option, a->path));
    }
}

}  // namespace hvsim::tools
