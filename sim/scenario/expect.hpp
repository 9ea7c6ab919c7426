// SPDX-License-Identifier: Apache-2.0
// `expect:` items and the selectors they name. Used inside this room, and by who evaluates
// selectors.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/registry/catalogue.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/scenario/tree.hpp"

namespace hvsim::scenario {

/// What a selector measures, or why it is none. Selectors:
///   total_time, faults, accesses, threads, table_bytes, guest_pages, fingerprint,
///   time.KEY, phase.PHASE, count.KIND, count.PHASE.KIND, breakdown.PART, breakdown.PHASE.PART,
///   lock.NAME.FIELD, lock.NAME.TYPE.FIELD (acquisitions, contended, total_wait, max_wait,
///   avg_wait, total_hold, max_hold),
///   fault_latency.FIELD (count, min, mean, p50, p90, p99, p999, max),
///   exit.REASON.FIELD (samples, total, min, max).
/// They are the paths of report::metrics, and the fingerprint.
struct selector_info {
  std::optional<dimension> what;
  std::string error;
};
selector_info check_selector(std::string_view selector);

/// The first words of selectors of numbers.
std::vector<std::string> number_selector_roots();

/// Reads `expect:`; complaints go to `out`.
std::vector<expectation> read_expectations(const registry::node& list,
                                           const registry::catalogue& catalogue, sink& out);

}  // namespace hvsim::scenario
