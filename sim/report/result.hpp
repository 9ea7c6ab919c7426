// SPDX-License-Identifier: Apache-2.0
// What one run produces, as plain data.
//
// `experiment::run` fills a run_result; every output (text, JSON, CSV, plots, checks, comparisons)
// reads it and nothing else. Everything but `provenance` is the same on every host, compiler and
// number of jobs. Plain values, no ownership of anything outside.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/units.hpp"

namespace hvsim::report {

/// Version of the JSON document; raised when a field changes its meaning.
inline constexpr int result_schema_version = 1;

struct named_count {
  std::string name;
  std::uint64_t value = 0;
  friend bool operator==(const named_count&, const named_count&) = default;
};

/// Virtual time that simulated threads spent in one part, summed over threads.
struct named_time {
  std::string name;
  engine::duration time;
  friend bool operator==(const named_time&, const named_time&) = default;
};

/// Five-number summary of a histogram of durations (HDR buckets, 3 significant digits).
struct latency_summary {
  std::uint64_t count = 0;
  engine::duration min, mean, p50, p90, p99, p999, max;
  friend bool operator==(const latency_summary&, const latency_summary&) = default;
};

/// One phase of the workload ("populate", "dirty1", ...), between two marks of the main thread.
struct phase_result {
  std::string name;
  engine::duration time;              ///< wall time of the phase in virtual time
  std::vector<named_count> counts;    ///< kinds as in a KVM trace; zero counts are left out
  std::vector<named_time> breakdown;  ///< sums exactly to time * number of threads
  friend bool operator==(const phase_result&, const phase_result&) = default;
};

struct lock_result {
  std::string name;  ///< "mmu_lock", "mmap_lock", ...
  std::string type;  ///< as `perf lock contention` prints it: "spinlock", "rwlock:W", "rwsem:R"
  std::uint64_t acquisitions = 0;
  std::uint64_t contended = 0;
  engine::duration total_wait, max_wait, total_hold, max_hold;
  latency_summary wait, hold;
  friend bool operator==(const lock_result&, const lock_result&) = default;
};

/// One exit reason, as `perf kvm stat` groups them.
struct exit_result {
  std::string reason;  ///< "DABT_LOW", "IABT_LOW", "WFx", ...
  std::uint64_t samples = 0;
  engine::duration total, min, max;
  friend bool operator==(const exit_result&, const exit_result&) = default;
};

/// A time that the workload itself reports, in the order in which it prints them.
struct reported_time {
  std::string key;    ///< machine-readable: "populate", "dirty1", "clear2", "disable"
  std::string label;  ///< as the selftest prints it: "Iteration 1 dirty memory time"
  engine::duration time;
  friend bool operator==(const reported_time&, const reported_time&) = default;
};

/// A number that the workload itself reports and that is no time.
struct reported_number {
  std::string key;  ///< "jobs_per_minute"
  double value = 0;
  friend bool operator==(const reported_number&, const reported_number&) = default;
};

struct provenance {
  std::string version, git, compiler, build_type, command_line, host;
  double wall_seconds = 0;
  std::uint64_t peak_rss_bytes = 0;
  std::vector<std::pair<std::string, double>> phase_seconds;  ///< host time of each phase
};

struct run_result {
  std::string name;  ///< of the scenario
  std::vector<std::pair<std::string, std::string>>
      config;           ///< effective scenario, dotted key to text
  std::string setting;  ///< one line for people: what ran on what; in the text only
  std::uint64_t seed = 1;
  std::uint64_t fingerprint = 0;
  engine::duration total_time;
  std::uint32_t threads = 0;      ///< simulated threads: vCPUs and the main thread
  std::uint64_t faults = 0;       ///< stage-2 aborts that KVM handled
  std::uint64_t accesses = 0;     ///< guest accesses executed
  std::uint64_t table_bytes = 0;  ///< peak bytes of tables, bitmaps and host page state
  std::uint64_t guest_pages = 0;  ///< 4 KiB pages of test memory that were simulated
  std::vector<reported_time> times;
  std::vector<reported_number> numbers;
  std::vector<std::string> text;  ///< the workload's own output, line by line
  std::vector<phase_result> phases;
  std::vector<named_time> breakdown;  ///< over the whole run; sums exactly to total_time * threads
  std::vector<lock_result> locks;
  std::vector<exit_result> exits;
  latency_summary fault_latency;
  provenance source;
};

/// The time reported under `key`, or nullopt.
inline std::optional<engine::duration> find_time(const run_result& r, const std::string& key) {
  for (const auto& t : r.times)
    if (t.key == key) return t.time;
  return std::nullopt;
}

/// The number reported under `key`, or nullopt.
inline std::optional<double> find_number(const run_result& r, const std::string& key) {
  for (const auto& n : r.numbers)
    if (n.key == key) return n.value;
  return std::nullopt;
}

}  // namespace hvsim::report
