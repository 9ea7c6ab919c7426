// SPDX-License-Identifier: Apache-2.0
// How warm a CPU is: after a rest the same work takes it longer for a while.
#pragma once

#include <algorithm>

#include "sim/engine/units.hpp"
#include "sim/engine/wide.hpp"

namespace hvsim::sched {

/// What a rest does to a CPU: its clock has to be raised again, its caches and TLBs to be filled.
/// Nothing unless `warm_up` and `cold_permille` are above 0.
struct warmth_options {
  engine::duration cool_after;      ///< a CPU that was idle for longer is cold
  engine::duration warm_up;         ///< until a cold one has done so much work
  std::uint32_t cold_permille = 0;  ///< by which that work takes longer, in parts of 1000

  [[nodiscard]] bool any() const { return warm_up != engine::duration{} && cold_permille != 0; }
};

/// State of one CPU. Work is CPU time as a warm CPU takes it. However often the work is
/// interrupted, W from cold on takes W + min(W, warm_up) * cold_permille / 1000, rounded down to a
/// picosecond.
class warmth {
 public:
  /// Cold.
  explicit warmth(const warmth_options& o) : rule_(o) {}

  /// The CPU had nothing to run for so long.
  void rested(engine::duration idle) {
    if (idle > rule_.cool_after) ran_ = {};
  }
  /// It ran for so long.
  void ran(engine::duration time) { ran_ = std::min(ran_ + time, time_of(rule_.warm_up)); }
  /// CPU time that `work` takes from now on.
  [[nodiscard]] engine::duration time_for(engine::duration work) const {
    if (work == engine::duration{}) return {};
    return time_of(work_of(ran_) + work) - ran_;
  }
  /// The work done in so much CPU time from now on.
  [[nodiscard]] engine::duration work_in(engine::duration time) const {
    return work_of(ran_ + time) - work_of(ran_);
  }
  /// The part of `work` that would be done cold now.
  [[nodiscard]] engine::duration cold_part(engine::duration work) const {
    return std::min(work, rule_.warm_up - work_of(ran_));
  }

 private:
  static constexpr std::uint32_t whole = 1000;

  /// From cold on.
  [[nodiscard]] engine::duration time_of(engine::duration work) const {
    const auto cold = static_cast<engine::wide>(std::min(work, rule_.warm_up).ps());
    return work + engine::duration{static_cast<std::int64_t>(cold * rule_.cold_permille / whole)};
  }
  /// The most work that does not take longer, from cold on.
  [[nodiscard]] engine::duration work_of(engine::duration time) const {
    const engine::duration slow = time_of(rule_.warm_up);
    if (time >= slow) return rule_.warm_up + (time - slow);
    // w + floor(w p / 1000) <= t: w = ceil(1000 (t + 1) / (1000 + p)) - 1.
    const engine::wide parts = whole + rule_.cold_permille;
    const engine::wide ps = static_cast<engine::wide>(time.ps()) + 1;
    return engine::duration{static_cast<std::int64_t>((ps * whole + parts - 1) / parts) - 1};
  }

  warmth_options rule_;
  engine::duration ran_;  // since it was cold; no more than until it is warm
};

}  // namespace hvsim::sched
