// SPDX-License-Identifier: Apache-2.0
// A thread's clock for a stretch of private work, small enough for the host's registers.
#pragma once

#include <array>

#include "sim/engine/engine.hpp"

namespace hvsim::engine {

/// Counts time as `thread::advance` does, and gives it to the thread at the end. Until then the
/// thread's own clock stands still, so the work must not sync, park, or look at it. On the thread's
/// fiber.
class local_clock {
 public:
  explicit local_clock(thread& t) : thread_(t), now_(t.now()) {}
  local_clock(const local_clock&) = delete;
  local_clock& operator=(const local_clock&) = delete;
  ~local_clock() {
    for (std::size_t p = 0; p < part_count; ++p)
      thread_.advance(static_cast<part>(p), spent_[place_of(static_cast<part>(p))]);
    thread_.turn_back(now_);
  }

  [[nodiscard]] sim_time now() const { return now_; }
  void advance(part p, duration d) {
    now_ += d;
    spent_[place_of(p)] += d;
  }
  /// Sets the clock back; what was spent since `t` stays booked.
  void turn_back(sim_time t) { now_ = t; }

 private:
  thread& thread_;
  sim_time now_;
  std::array<duration, part_count> spent_{};  // see place_of
};

}  // namespace hvsim::engine
