// SPDX-License-Identifier: Apache-2.0
// A thread's clock for a stretch of private work, small enough for the host's registers.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "sim/engine/engine.hpp"

namespace hvsim::engine {

/// Counts time as `thread::advance` does; `end` gives it to the thread. Until then the thread's own
/// clock stands still, so the work must not sync, park, or look at it. On the thread's fiber. Every
/// call that is given one should be inlined: what has no address needs no memory.
class local_clock {
 public:
  explicit local_clock(thread& t) : thread_(t), now_(t.now()) {}
  local_clock(const local_clock&) = delete;
  local_clock& operator=(const local_clock&) = delete;

  [[nodiscard]] sim_time now() const { return now_; }
  void advance(part p, duration d) {
    now_ += d;
    spent_[place_of(p)] += d;
  }
  /// Sets the clock back; what was spent since `t` stays booked.
  void turn_back(sim_time t) { now_ = t; }

  /// Books what was spent and sets the thread's clock. The last call.
  [[gnu::always_inline]] void end() { book(std::make_index_sequence<part_count>{}); }

 private:
  template <std::size_t... P>
  [[gnu::always_inline]] void book(std::index_sequence<P...>) {
    (thread_.book_at(P, spent_[P]), ...);
    thread_.pass_until(now_);
  }

  thread& thread_;
  sim_time now_;
  std::array<duration, part_count> spent_{};  // see place_of
};

}  // namespace hvsim::engine
