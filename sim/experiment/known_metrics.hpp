// SPDX-License-Identifier: Apache-2.0
// Figures that a run can have, whether or not what they count has happened.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "sim/report/metrics.hpp"

namespace hvsim::experiment {

/// Zero under `path` if it names something that the simulator counts or times and that did not
/// happen in the run of `all`: a kind of fault or event, a part of the breakdown, a lock, an exit
/// reason, each in a phase of that run or in all of it. Nothing if no run could have this figure,
/// or if this run has it.
std::optional<report::metric> zero_metric(const std::vector<report::metric>& all,
                                          std::string_view path);

}  // namespace hvsim::experiment
