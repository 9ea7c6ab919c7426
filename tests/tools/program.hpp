// SPDX-License-Identifier: Apache-2.0
// The built program, as a user calls it.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>

#include "scratch.hpp"

namespace hvsim::test {

struct ended {
  int code = -1;
  std::string out;
  std::string err;
  double seconds = 0;
};

/// Runs a command by bash, from the top of the repository. With `interrupt_after`, sends `signal`
/// to it after that many seconds; `seconds` then counts from the signal.
inline ended shell(const std::string& line, double interrupt_after = 0, int signal = SIGINT) {
  const scratch dir;
  const std::string command = "cd '" HVSIM_SOURCE_DIR "' && " + line;
  const pid_t child = ::fork();
  if (child == 0) {
    ::setsid();  // no terminal stops it
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, SIG_DFL);
    if (std::freopen("/dev/null", "r", stdin) == nullptr ||
        std::freopen(dir.at("out").c_str(), "w", stdout) == nullptr ||
        std::freopen(dir.at("err").c_str(), "w", stderr) == nullptr)
      ::_exit(126);
    ::execl("/bin/bash", "bash", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  if (interrupt_after > 0) {
    ::usleep(static_cast<useconds_t>(interrupt_after * 1e6));
    ::kill(child, signal);
  }
  const auto start = std::chrono::steady_clock::now();
  int status = 0;
  ::waitpid(child, &status, 0);
  ended e;
  e.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  e.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  e.out = content_of(dir.at("out"));
  e.err = content_of(dir.at("err"));
  return e;
}

/// Runs "hvsim ARGUMENTS" as shell does.
inline ended hvsim(const std::string& arguments, double interrupt_after = 0, int signal = SIGINT) {
  return shell("exec '" HVSIM_PROGRAM "' " + arguments, interrupt_after, signal);
}

/// A scenario that runs in a moment, with `more` behind it.
inline std::string small_scenario(const std::string& more = "") {
  return "schema_version: 1\nmachine: unit\nvm: {vcpus: 2}\n"
         "workload: {type: dirty_log_perf_test, bytes_per_vcpu: 2MiB}\n" +
         more;
}

}  // namespace hvsim::test
