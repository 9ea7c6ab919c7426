// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/batch.hpp"

#include <new>
#include <utility>

#include "sim/experiment/memory_need.hpp"

namespace hvsim::experiment {
namespace {

std::string message_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    return memory_refused();
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "unknown error";
  }
}

}  // namespace

std::size_t batch::add(const std::string& file, const std::vector<std::string>& sets,
                       double weight) {
  std::vector<std::string> key = {file};
  key.insert(key.end(), sets.begin(), sets.end());
  if (const auto found = index_.find(key); found != index_.end()) return found->second;
  requests_.push_back({load_(file, sets), weight});
  outcomes_.emplace_back();
  index_.emplace(std::move(key), requests_.size() - 1);
  return requests_.size() - 1;
}

const std::vector<run_outcome>& batch::run(const pool_options& options) {
  std::vector<job> jobs;
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (outcomes_[i].result || !outcomes_[i].error.empty()) continue;
    indices.push_back(i);
    jobs.push_back({requests_[i].weight, [this, i, &options](const auto& share) {
                      run_options how;
                      how.progress = share;
                      how.stop = options.stop;
                      outcomes_[i].result = run_(requests_[i].scene, how);
                    }});
  }
  const std::vector<job_state> states = run_jobs(jobs, options);
  for (std::size_t j = 0; j < states.size(); ++j) {
    if (!states[j].error) continue;
    outcomes_[indices[j]].error = message_of(states[j].error);
    outcomes_[indices[j]].cause = states[j].error;
  }
  return outcomes_;
}

}  // namespace hvsim::experiment
