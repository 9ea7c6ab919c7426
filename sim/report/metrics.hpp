// SPDX-License-Identifier: Apache-2.0
// Every figure of a run under one path, for CSV, checks and comparisons.
//
// Paths (NAME as the run names it):
//   total_time, threads, faults, accesses, table_bytes, guest_pages
//   time.KEY                        a time that the workload reports
//   phase.PHASE                     its time
//   count.NAME                      over all phases
//   count.PHASE.NAME                0 if the kind occurs in another phase only
//   breakdown.PART                  over the run and all threads
//   breakdown.PHASE.PART
//   lock.NAME.FIELD                 over all rows of that lock name (sums; maxima for max_*)
//   lock.NAME.TYPE.FIELD            one row (mmu_lock.rwlock:R)
//       FIELD: acquisitions contended total_wait max_wait avg_wait total_hold max_hold
//   exit.REASON.FIELD               FIELD: samples total min max
//   fault_latency.FIELD             FIELD: count min mean p50 p90 p99 p999 max
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/report/result.hpp"

namespace hvsim::report {

/// Unit of a metric's integer value.
enum class metric_unit { count, bytes, picoseconds };

struct metric {
  std::string path;
  std::int64_t value = 0;
  metric_unit unit = metric_unit::count;
  friend bool operator==(const metric&, const metric&) = default;
};

/// All metrics in a fixed order. Thread-safe; costs one pass over the result.
std::vector<metric> metrics(const run_result& result);

/// The metric with this path, or nullptr. The pointer lives as long as `all`.
const metric* find_metric(const std::vector<metric>& all, std::string_view path);

/// The value as people read it: times in seconds with 12 exact decimals, others as integers.
std::string value_text(const metric& m);
/// "s", "B" or "1".
std::string_view unit_text(metric_unit unit);

}  // namespace hvsim::report
