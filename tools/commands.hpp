// SPDX-License-Identifier: Apache-2.0
// The subcommands and what they share. Each lives in its own file cmd_NAME.cpp.
//
// add_NAME() declares the subcommand on the app; when the user picks it, its callback stores the
// work in `context::action`, which main() runs after parsing, inside the mapping from exceptions
// to exit codes.
#pragma once

#include <CLI/CLI.hpp>
#include <atomic>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/registry/catalogue.hpp"
#include "sim/report/result.hpp"
#include "sim/scenario/scenario.hpp"

namespace hvsim::tools {

/// What the program returns. Also in the footer of `hvsim --help`.
enum exit_code : int {
  exit_ok = 0,
  exit_failed = 1,         ///< a run failed, or a check missed
  exit_usage = 2,          ///< wrong command line
  exit_bad_data = 65,      ///< a trace or a stored result cannot be read
  exit_no_input = 66,      ///< an input file is missing or unreadable
  exit_internal = 70,      ///< a bug of hvsim
  exit_output = 74,        ///< a result could not be written
  exit_bad_scenario = 78,  ///< a scenario, profile or table is wrong
  exit_signalled = 128     ///< and the number of the signal: SIGHUP, SIGINT, SIGTERM
};

/// Ends the program with `code` after `what()` on stderr (as is, if it ends in a newline).
class exit_error : public std::runtime_error {
 public:
  exit_error(exit_code code, const std::string& message)
      : std::runtime_error(message), code_(code) {}
  [[nodiscard]] exit_code code() const { return code_; }

 private:
  exit_code code_;
};

enum class when { automatic, always, never };

class warning_list;

struct context {
  registry::catalogue catalogue;  ///< everything built in, with the embedded machines
  std::vector<std::string> arguments;
  when progress = when::automatic;
  when color = when::automatic;
  bool quiet = false;
  int verbosity = 0;
  const std::atomic<bool>* stop = nullptr;  ///< true after SIGHUP, SIGINT or SIGTERM
  std::function<int()> action;              ///< set by the chosen subcommand
  /// About the scenarios that were loaded. Never null.
  std::shared_ptr<warning_list> warnings;

  [[nodiscard]] bool show_progress() const;  ///< stderr is a terminal, or the user insists
  [[nodiscard]] bool use_color() const;      ///< on stderr; honours NO_COLOR
};

/// What the program returns for something thrown.
exit_code exit_code_of(const std::exception_ptr& error);

/// The text of an input, and what messages call it.
struct input_text {
  std::string name;
  std::string text;
};
/// "-": standard input; a path; else the name of an embedded config. A stream is read once however
/// often it is asked for. Throws exit_error.
input_text read_input(const std::string& file);

/// What brought an override in, for messages.
struct override_origin {
  registry::position
      where;            ///< an option or a table by name (without a line), or a place in a file
  bool stored = false;  ///< a stored result brought it in: what is wrong with it is bad data
};
struct override_origins {
  std::map<std::string, override_origin> by_set;  ///< by "KEY=VALUE" or, for any value, by "KEY"
  override_origin otherwise{{"--set", 0, 0}};
};

/// Keys that the scenarios of one command set and do not read, each told once. One that any of the
/// scenarios reads, such as a setting of one lock where several are compared, has its effect.
/// Its members may be called from any thread.
class warning_list {
 public:
  /// Looks at a scenario; `sets` and `from` as load_scenario was given them.
  void note(const scenario::scenario& s, const registry::catalogue& catalogue,
            const std::vector<std::string>& sets, const override_origins& from);
  /// Warns on standard error about what has not been told yet.
  void show();

 private:
  struct written {
    registry::diagnostic warning;  ///< its message is empty if the key is read
    bool told = false;
  };
  std::mutex mutex_;
  std::vector<written> keys_;  ///< in the order in which they were seen
};

/// What a scenario is loaded for: to run, it must also fit into this computer's memory.
enum class purpose { run, look };

/// Reads and checks the scenario that read_input finds. Throws exit_error with every diagnostic:
/// exit_no_input if a file is missing, exit_usage if options alone are wrong, exit_bad_data if what
/// was stored is, else exit_bad_scenario.
scenario::scenario load_scenario(const context& ctx, const std::string& file,
                                 const std::vector<std::string>& sets,
                                 const override_origins& from = {}, purpose why = purpose::run);

/// Complains on standard error about values of `s` that are probably not meant.
void warn_about(const scenario::scenario& s);

/// Fills `result.source`: version, compiler, command line, memory.
void stamp(report::run_result& result, const context& ctx, double wall_seconds);

/// Writes `text` to standard output. Throws report::output_error if that fails.
void write_stdout(std::string_view text);

/// Adds "--set KEY=VALUE".
CLI::Option* add_sets(CLI::App& app, std::vector<std::string>& into);

/// Adds an option whose value must not be empty, such as a file's name.
CLI::Option* add_text(CLI::App& app, const std::string& names, std::string& into,
                      const std::string& help, const std::string& type);

/// Adds "--format" with the given choices; `into` holds the default.
CLI::Option* add_format(CLI::App& app, std::string& into, const std::vector<std::string>& choices);

void add_run(CLI::App& app, context& ctx);
void add_validate(CLI::App& app, context& ctx);
void add_list(CLI::App& app, context& ctx);
void add_schema(CLI::App& app, context& ctx);
void add_version(CLI::App& app, context& ctx);
void add_completion(CLI::App& app, context& ctx);
void add_compare(CLI::App& app, context& ctx);
void add_check(CLI::App& app, context& ctx);
void add_reproduce(CLI::App& app, context& ctx);
void add_calibrate(CLI::App& app, context& ctx);
void add_bench(CLI::App& app, context& ctx);

/// Throws exit_error(exit_usage) if what `option` would write is the file `input` itself.
void refuse_overwriting(const std::string& input, const std::string& option,
                        const std::string& output);

/// Something that is written, and the option that wants it.
struct output_path {
  std::string option;
  std::string path;
};

/// Throws exit_error(exit_usage) if two outputs are one file, or one would have to be a folder for
/// the other. None of them need exist.
void refuse_collisions(const std::vector<output_path>& outputs);

/// Prints and stores a result: if one of the two fails, the other is done all the same, and then
/// the failure is thrown.
template <class Print, class Store>
void print_and_store(Print&& print, Store&& store) {
  try {
    print();
  } catch (...) {
    store();
    throw;
  }
  store();
}

}  // namespace hvsim::tools
