// SPDX-License-Identifier: Apache-2.0
// One run: a checked scenario in, its results out.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <string>

#include "sim/report/result.hpp"
#include "sim/scenario/scenario.hpp"

namespace hvsim::experiment {

/// What a run may tell its caller while it runs. None of it changes a result.
struct run_options {
  /// Called now and then from the thread that runs, with the share done in 0..1. May be empty.
  std::function<void(double fraction_done)> progress;
  /// Write the fault stream as kvm_guest_fault lines to this file; empty: do not.
  std::string ftrace_file;
  /// Where the report::output_error goes if that file takes no more during the run, which goes on
  /// without it. Null: it is thrown when the run has ended.
  std::exception_ptr* ftrace_refused = nullptr;
  /// When it becomes true the run stops early by an exception. May be null.
  const std::atomic<bool>* stop = nullptr;
};

/// Runs `s` to its end on the calling thread. Throws report::input_error for a wrong trace,
/// missing_input for a trace that is not there, report::output_error for the ftrace file, and
/// std::runtime_error when the run fails or is stopped.
report::run_result run(const scenario::scenario& s, const run_options& options = {});

}  // namespace hvsim::experiment
