// SPDX-License-Identifier: Apache-2.0
// The hvsim program: reads the command line, runs one subcommand, maps errors to exit codes.
#include <fcntl.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <iostream>
#include <map>
#include <memory>
#include <new>
#include <sstream>

#include "sim/experiment/catalogue.hpp"
#include "sim/experiment/memory_need.hpp"
#include "sim/report/atomic_file.hpp"
#include "sim/report/errors.hpp"
#include "sim/scenario/input.hpp"
#include "sim/scenario/units.hpp"
#include "tools/commands.hpp"
#include "tools/embedded.hpp"

namespace {

using namespace hvsim;
using namespace hvsim::tools;

std::atomic<bool> stop_requested{false};
std::atomic<int> stop_signal{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

// The first signal asks the run to stop, the second one ends the program.
extern "C" void on_stop_signal(int number) {
  int none = 0;
  if (!stop_signal.compare_exchange_strong(none, number)) {
    report::remove_unfinished_files();
    _exit(exit_signalled + number);
  }
  stop_requested = true;
}

void handle_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction how {};
    // nohup and its like have set this one aside.
    if (number == SIGHUP && sigaction(number, nullptr, &how) == 0 && how.sa_handler == SIG_IGN)
      continue;
    how = {};
    how.sa_handler = on_stop_signal;
    how.sa_flags = SA_RESTART;  // results are still written
    sigaction(number, &how, nullptr);
  }
  // A closed pipe and a limit of file sizes are output errors like any other.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

// An output file must not get the number of a standard stream that the caller has closed: what is
// printed would end up in it. A stand-in that cannot be used the right way fails like the closed
// one.
void occupy_standard_streams() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(number, F_GETFD) < 0)
      (void)open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

constexpr const char* footer = R"(Exit codes:
  0    ok
  1    a run failed, or a check missed
  2    wrong command line
  65   a trace or a stored result cannot be read
  66   an input file is missing or unreadable
  70   internal error
  74   output could not be written
  78   a scenario, machine profile or table is wrong
  129, 130, 143  stopped by SIGHUP, SIGINT, SIGTERM

Results go to standard output; logs, errors and progress to standard error.)";

void add_global_options(CLI::App& app, context& ctx) {
  static const std::map<std::string, when> modes{
      {"auto", when::automatic}, {"always", when::always}, {"never", when::never}};
  app.add_flag("-q,--quiet", ctx.quiet, "errors only on standard error");
  app.add_flag("-v,--verbose", ctx.verbosity, "more on standard error; twice for debugging");
  auto mode = [&](const char* name, when& into, const char* help) {
    app.add_option_function<std::string>(
           name, [&into](const std::string& word) { into = modes.at(word); }, help)
        ->check(CLI::IsMember({"auto", "always", "never"}))
        ->type_name("WHEN");
  };
  mode("--progress", ctx.progress, "progress line: auto (on a terminal), always, never");
  mode("--color", ctx.color, "colours in messages: auto (honours NO_COLOR), always, never");
}

void add_commands(CLI::App& app, context& ctx) {
  add_run(app, ctx);
  add_compare(app, ctx);
  add_check(app, ctx);
  add_reproduce(app, ctx);
  add_calibrate(app, ctx);
#ifdef HVSIM_HAS_BENCH
  add_bench(app, ctx);
#endif
  add_validate(app, ctx);
  add_list(app, ctx);
  add_schema(app, ctx);
  add_version(app, ctx);
  add_completion(app, ctx);
}

// The first word that should have been a subcommand, if it is none.
std::string unknown_command(const CLI::App& app, const std::vector<std::string>& arguments) {
  std::vector<std::string> names;
  for (const auto* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--progress" || word == "--color") ++i;
    if (word.starts_with("-")) continue;
    if (std::find(names.begin(), names.end(), word) != names.end()) return {};
    return scenario::unknown_word("subcommand", word, names);
  }
  return {};
}

void set_up_log(const context& ctx) {
  auto log = spdlog::stderr_color_st("hvsim");
  log->set_pattern("hvsim: %^%l%$: %v");
  log->set_level(ctx.quiet           ? spdlog::level::err
                 : ctx.verbosity > 1 ? spdlog::level::debug
                 : ctx.verbosity > 0 ? spdlog::level::info
                                     : spdlog::level::warn);
  spdlog::set_default_logger(log);
}

void complain(const std::string& message) {
  if (message.ends_with('\n'))
    std::cerr << message;
  else
    std::cerr << "hvsim: error: " << message << "\n";
}

int print_help(const CLI::App& app, const CLI::ParseError& asked) {
  std::ostringstream text;
  app.exit(asked, text, std::cerr);
  try {
    write_stdout(text.str());
  } catch (const report::output_error& e) {
    complain(e.what());
    return exit_output;
  }
  return exit_ok;
}

int run_action(const context& ctx) {
  int code = exit_ok;
  try {
    code = ctx.action();
  } catch (const std::bad_alloc&) {
    complain(experiment::memory_refused());
    code = exit_failed;
  } catch (const std::exception& e) {
    code = exit_code_of(std::current_exception());
    complain((code == exit_internal ? "internal error: " : "") + std::string(e.what()));
  }
  return stop_requested ? exit_signalled + stop_signal : code;
}

}  // namespace

int main(int argc, char** argv) {
  handle_signals();
  occupy_standard_streams();
  context ctx;
  ctx.arguments.assign(argv, argv + argc);
  ctx.stop = &stop_requested;
  ctx.warnings = std::make_shared<warning_list>();
  try {
    ctx.catalogue = experiment::builtin_catalogue();
    constexpr std::string_view folder = "configs/machines/";
    for (const auto& file : embedded_files())
      if (file.path.starts_with(folder) && file.path.ends_with(".yaml"))
        ctx.catalogue.machines.emplace_back(
            file.path.substr(folder.size(), file.path.size() - folder.size() - 5), file.text);
    CLI::App app{"hvsim: a deterministic simulator of arm64 hypervisors at scale", "hvsim"};
    app.require_subcommand(1);
    app.fallthrough();
    app.footer(footer);
    add_global_options(app, ctx);
    add_commands(app, ctx);
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
      // CLI11's own codes (100..127) mean nothing to a user of this program.
      bool help = e.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success);
      std::string unknown = help ? "" : unknown_command(app, ctx.arguments);
      if (help) return print_help(app, e);
      if (unknown.empty())
        app.exit(e, std::cout, std::cerr);
      else
        complain(unknown);
      return exit_usage;
    }
    set_up_log(ctx);
    scenario::end_waits_on(&stop_requested);
    return run_action(ctx);
  } catch (const std::exception& e) {
    complain(std::string("internal error: ") + e.what());
    return exit_internal;
  }
}
