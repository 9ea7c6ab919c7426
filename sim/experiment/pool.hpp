// SPDX-License-Identifier: Apache-2.0
// Jobs on several host threads, with results in the order of the jobs.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace hvsim::experiment {

/// How far a pool is. Times are host wall clock and appear in no result.
struct pool_progress {
  std::size_t done = 0;   ///< jobs finished
  std::size_t total = 0;  ///< jobs given
  double fraction = 0;    ///< share of the weight that is done, 0..1, with parts of running jobs
  double elapsed_seconds = 0;
  std::optional<double> remaining_seconds{};  ///< absent while there is nothing to judge by
};

struct pool_options {
  unsigned jobs = 1;  ///< host threads; 0 counts as 1
  /// Called now and then, one call at a time, from any of the pool's threads. May be empty.
  std::function<void(const pool_progress&)> progress;
  /// Once true, no job is started any more, and a job that then throws counts as not finished.
  const std::atomic<bool>* stop = nullptr;
};

/// One job: how much work it is against the others, and the work. The work gets a function to
/// report its own share done, 0..1, which it may call or not.
struct job {
  double weight = 1;
  std::function<void(const std::function<void(double)>& report)> work;
};

/// What became of a job. Neither finished nor with an error: it was stopped or never started.
struct job_state {
  bool finished = false;
  std::exception_ptr error;
};

/// Runs the jobs, heaviest first (equal weights in the given order), and returns when all are done
/// or the stop flag has come up. An exception of a job ends that job alone. The states are in the
/// order of the jobs.
std::vector<job_state> run_jobs(const std::vector<job>& jobs, const pool_options& options);

}  // namespace hvsim::experiment
