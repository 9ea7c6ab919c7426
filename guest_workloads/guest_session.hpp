// SPDX-License-Identifier: Apache-2.0
// One run's world for workloads with a guest kernel: host, VMs, and the record of the run.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "guest_workloads/session.hpp"
#include "sim/guest/parameters.hpp"
#include "sim/scenario/scenario.hpp"

namespace hvsim::workloads {

/// What a run leaves behind, besides its guests' own records.
struct guest_outcome {
  std::vector<reported> times;
  std::vector<std::pair<std::string, double>> numbers;  ///< results that are no times
  std::vector<std::string> text;
  engine::sim_time end;
};

/// A host of host.cpus cores, the first cores of the scenario's machine, with host.vms guests.
/// Lives on one host thread.
class guest_session {
 public:
  explicit guest_session(const scenario::scenario& s);
  ~guest_session();

  /// Starts the vCPUs of all guests and runs until every task has ended.
  void run();

  void report(std::string key, std::string label, engine::duration time) {
    result.times.push_back({std::move(key), std::move(label), time});
  }

  const scenario::scenario& config;
  engine::engine engine;
  machine::machine machine;
  sched::timers clock;
  guest::host_options host_options;
  sched::scheduler host;
  std::vector<std::unique_ptr<guest::system>> guests;
  guest_outcome result;
  std::string name = "run";  ///< of the phase that this session is in the results
  /// Further runs of the same workload, each in a world of its own.
  std::vector<std::unique_ptr<guest_session>> later;
  /// When the run will end at the latest, for a progress display; 0: unknown.
  engine::duration expected;

 private:
  std::vector<std::unique_ptr<sched::background_task>> background_;
};

/// Mean of what `elapsed()` of each says; `all` has one for each VM.
template <class T>
engine::duration mean_elapsed(const std::vector<std::unique_ptr<T>>& all) {
  engine::duration sum;
  for (const auto& one : all) sum += one->elapsed();
  return sum / static_cast<std::int64_t>(all.size());
}

/// Time of all vCPUs by what it went into, as (name, time); adds up to vCPUs times run time.
std::vector<std::pair<std::string, engine::duration>> vcpu_breakdown(const guest_session& s);
/// What locks, vCPUs and schedulers counted, in a fixed order; zeros included.
std::vector<std::pair<std::string, std::uint64_t>> guest_counts(const guest_session& s);
/// Over the ends and accounts of all tasks and all counts.
std::uint64_t guest_fingerprint(const guest_session& s);

}  // namespace hvsim::workloads
