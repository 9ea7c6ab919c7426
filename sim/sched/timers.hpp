// SPDX-License-Identifier: Apache-2.0
// Timers of one engine: callbacks at points of virtual time, run by one daemon thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <utility>

#include "sim/engine/engine.hpp"

namespace hvsim::sched {

/// Names a timer of one `timers`.
enum class timer_id : std::uint32_t {};

/// Ticks, slice ends, balancing, ends of halt polling: whatever happens to a CPU without a thread
/// of its own doing it. Timers of one instant fire in the order in which they were added.
///
/// Make it before any other thread of the engine: threads with lower numbers go first at equal
/// times, so what a timer decides at `t` holds for every thread that acts at `t`. Members are
/// called before the run or from fibers of the engine; `arm` with `t` not before the time of the
/// calling thread.
class timers {
 public:
  /// Called on the daemon's fiber at the time that was asked for.
  using callback = std::function<void(engine::sim_time now)>;

  explicit timers(engine::engine& e);
  timers(const timers&) = delete;
  timers& operator=(const timers&) = delete;

  /// A timer that is not armed. Never removed.
  timer_id add(callback what);
  /// Fires once at `t`; replaces an earlier setting.
  void arm(timer_id timer, engine::sim_time t);
  /// Nothing if it is not armed.
  void cancel(timer_id timer);
  [[nodiscard]] bool armed(timer_id timer) const;

 private:
  struct slot {
    callback what;
    engine::sim_time at;
    bool armed = false;
  };
  [[noreturn]] void serve(engine::thread& self);
  [[nodiscard]] engine::sim_time next() const;
  void adjust();

  engine::engine& engine_;
  engine::thread* daemon_ = nullptr;
  bool serving_ = false;  // the daemon is in a callback and looks at the queue afterwards
  engine::sim_time waits_until_;
  std::deque<slot> slots_;
  std::set<std::pair<engine::sim_time, std::uint32_t>> queue_;
};

/// The last instant that an event key can hold; who waits until then waits for somebody.
inline constexpr engine::sim_time end_of_time{(std::int64_t{1} << (63 - engine::thread_id_bits)) -
                                              1};

/// The first multiple of `period` after `t`.
constexpr engine::sim_time next_multiple(engine::sim_time t, engine::duration period) {
  return engine::sim_time{(t.ps() / period.ps() + 1) * period.ps()};
}

}  // namespace hvsim::sched
