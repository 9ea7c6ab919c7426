// SPDX-License-Identifier: Apache-2.0
// Virtual run time, as the policies of Linux count it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "sim/sched/entity.hpp"

namespace hvsim::sched {

/// Run time of an entity of this weight, in the unit of `policy_state::vruntime`. An exact multiple
/// of the run time, so that it does not depend on how often it is brought up to date.
inline std::int64_t virtual_of(engine::duration d, std::uint32_t weight) {
  constexpr std::uint32_t vruntime_unit = 64 * default_weight;
  return d.ps() * static_cast<std::int64_t>(vruntime_unit / weight);
}

/// 1 + log2(min(cpus, 8)), by which the tunables of Linux grow (SCHED_TUNABLESCALING_LOG).
inline std::int64_t tunable_factor(std::uint32_t cpus) {
  return static_cast<std::int64_t>(std::bit_width(std::min(cpus, 8U)));
}

}  // namespace hvsim::sched
