// SPDX-License-Identifier: Apache-2.0
// A set of runs, each made once however often it is asked for.
#pragma once

#include <cstddef>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/experiment/pool.hpp"
#include "sim/experiment/source.hpp"

namespace hvsim::experiment {

/// What became of one run of a batch.
struct run_outcome {
  std::optional<report::run_result> result;
  std::string error;           ///< why it failed; empty if it has a result or was stopped
  std::exception_ptr cause{};  ///< what it failed with; null as `error` is empty
};

/// Collects runs and makes them on a pool. Requests with the same file and the same overrides
/// share one run. Use from one thread.
class batch {
 public:
  batch(loader load, runner run) : load_(std::move(load)), run_(std::move(run)) {}

  /// Asks for a run and returns its index. Loads the scenario at the first request: throws
  /// config_error. `weight` tells how much work it is against the others.
  std::size_t add(const std::string& file, const std::vector<std::string>& sets, double weight = 1);

  [[nodiscard]] std::size_t size() const { return requests_.size(); }
  [[nodiscard]] const scenario::scenario& scenario_of(std::size_t i) const {
    return requests_.at(i).scene;
  }

  /// Makes all runs that have not been made, and returns the outcomes by index. The same whatever
  /// the number of jobs.
  const std::vector<run_outcome>& run(const pool_options& options);

 private:
  struct request {
    scenario::scenario scene;
    double weight = 1;
  };
  loader load_;
  runner run_;
  std::vector<request> requests_;
  std::vector<run_outcome> outcomes_;
  std::map<std::vector<std::string>, std::size_t> index_;  ///< file and its overrides
};

}  // namespace hvsim::experiment
