// SPDX-License-Identifier: Apache-2.0
// How far a simulated number is from the published ones.
//
// A measurement that somebody repeated is an interval, not a point: an error is counted from the
// nearest end of what the repeats span. Pure functions of IEEE arithmetic without a library call.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace hvsim::experiment {

/// 100 * (simulated - published) / published. published must not be 0.
double error_percent(double simulated, double published);

/// 0 inside [smallest, largest] of `published`; outside it error_percent against the nearest end.
/// Absent if nothing was published.
std::optional<double> outside_percent(double simulated, const std::vector<double>& published);

/// Mean of the magnitudes and the value of largest magnitude (the first of equals).
struct error_summary {
  std::size_t cells = 0;
  double mean = 0;   ///< percent, 0 or more
  double worst = 0;  ///< percent, with its sign
};
error_summary summarise(const std::vector<double>& errors);

/// 100 * (largest - smallest) / first: by how much repeats with other seeds move a value. 0 for
/// fewer than two values.
double spread_percent(const std::vector<double>& values);

/// "+1.2", "-0.3", "0.0": a percentage with its sign and without "-0.0".
std::string signed_text(double percent, int digits = 1);

}  // namespace hvsim::experiment
