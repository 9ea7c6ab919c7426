// SPDX-License-Identifier: Apache-2.0
// How the experiments get scenarios and run them, as functions that a test can replace.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/experiment/run.hpp"
#include "sim/report/result.hpp"
#include "sim/scenario/scenario.hpp"

namespace hvsim::experiment {

/// A scenario, a published table or an option is wrong. The message is ready to be shown: for
/// scenarios it holds every diagnostic with its position.
class config_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The command line is wrong: the value of an option, or an override that the user gave.
class usage_error : public config_error {
 public:
  using config_error::config_error;
};

/// A scenario, a machine profile or a trace is missing or cannot be read.
class missing_input : public config_error {
 public:
  using config_error::config_error;
};

/// The user asked to stop before there was a result to show.
class interrupted : public std::runtime_error {
 public:
  interrupted() : std::runtime_error("interrupted") {}
};

/// Loads the scenario in `file` with "dotted.key=value" strings applied after it. Throws
/// config_error. Called from the thread that plans the runs.
using loader = std::function<scenario::scenario(const std::string& file,
                                                const std::vector<std::string>& sets)>;

/// Runs one scenario; `experiment::run` is one. Called from several threads at a time.
using runner =
    std::function<report::run_result(const scenario::scenario& s, const run_options& options)>;

}  // namespace hvsim::experiment
