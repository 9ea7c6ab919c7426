// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/pool.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <numeric>
#include <thread>

namespace hvsim::experiment {
namespace {

using clock = std::chrono::steady_clock;

/// Keeps the share of every job and tells the caller.
class tracker {
 public:
  tracker(const std::vector<job>& jobs, const pool_options& options)
      : jobs_(jobs), options_(options), shares_(jobs.size(), 0.0), started_(clock::now()) {}

  void share(std::size_t i, double fraction) {
    if (!options_.progress) return;
    const std::lock_guard lock(mutex_);
    shares_[i] = std::clamp(fraction, 0.0, 1.0);
    tell();
  }
  void done(std::size_t i) {
    const std::lock_guard lock(mutex_);
    shares_[i] = 1;
    ++done_;
    if (options_.progress) tell();
  }

 private:
  void tell() {
    double total = 0;
    double covered = 0;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      total += jobs_[i].weight;
      covered += jobs_[i].weight * shares_[i];
    }
    pool_progress p;
    p.done = done_;
    p.total = jobs_.size();
    p.fraction = total > 0 ? covered / total : 0;
    p.elapsed_seconds = std::chrono::duration<double>(clock::now() - started_).count();
    if (p.fraction > 0) p.remaining_seconds = p.elapsed_seconds * (1 - p.fraction) / p.fraction;
    options_.progress(p);
  }

  const std::vector<job>& jobs_;
  const pool_options& options_;
  std::vector<double> shares_;
  std::size_t done_ = 0;
  clock::time_point started_;
  std::mutex mutex_;
};

std::vector<std::size_t> heaviest_first(const std::vector<job>& jobs) {
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return jobs[a].weight > jobs[b].weight; });
  return order;
}

}  // namespace

std::vector<job_state> run_jobs(const std::vector<job>& jobs, const pool_options& options) {
  std::vector<job_state> states(jobs.size());
  const std::vector<std::size_t> order = heaviest_first(jobs);
  tracker progress(jobs, options);
  std::atomic<std::size_t> next{0};
  const auto stopped = [&] { return options.stop != nullptr && options.stop->load(); };
  const auto worker = [&] {
    for (;;) {
      if (stopped()) return;
      const std::size_t turn = next.fetch_add(1);
      if (turn >= order.size()) return;
      const std::size_t i = order[turn];
      try {
        jobs[i].work([&progress, i](double fraction) { progress.share(i, fraction); });
        states[i].finished = true;
      } catch (...) {
        if (stopped()) continue;
        states[i].error = std::current_exception();
      }
      progress.done(i);
    }
  };
  const std::size_t threads = std::min<std::size_t>(std::max(options.jobs, 1U), jobs.size());
  {
    std::vector<std::jthread> pool;
    for (std::size_t t = 1; t < threads; ++t) pool.emplace_back(worker);
    worker();
  }
  return states;
}

}  // namespace hvsim::experiment
