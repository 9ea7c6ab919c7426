// SPDX-License-Identifier: Apache-2.0
#include "sim/sched/timers.hpp"

namespace hvsim::sched {

timers::timers(engine::engine& e) : engine_(e), waits_until_(end_of_time) {
  daemon_ = &engine_.spawn(
      "timers", engine::sim_time{}, [this](engine::thread& t) { serve(t); }, true);
  serving_ = true;  // until it has looked at the queue for the first time
}

timer_id timers::add(callback what) {
  slots_.push_back({std::move(what), {}, false});
  return static_cast<timer_id>(slots_.size() - 1);
}

bool timers::armed(timer_id timer) const {
  return slots_[static_cast<std::uint32_t>(timer)].armed;
}

void timers::arm(timer_id timer, engine::sim_time t) {
  const auto index = static_cast<std::uint32_t>(timer);
  slot& s = slots_[index];
  if (s.armed) {
    if (s.at == t) return;
    queue_.erase({s.at, index});
  }
  s.armed = true;
  s.at = t;
  queue_.insert({t, index});
  adjust();
}

void timers::cancel(timer_id timer) {
  const auto index = static_cast<std::uint32_t>(timer);
  slot& s = slots_[index];
  if (!s.armed) return;
  s.armed = false;
  queue_.erase({s.at, index});
  adjust();
}

engine::sim_time timers::next() const {
  return queue_.empty() ? end_of_time : queue_.begin()->first;
}

void timers::adjust() {
  if (serving_) return;
  const engine::sim_time t = next();
  if (t == waits_until_) return;
  waits_until_ = t;
  engine_.move_wait(*daemon_, t);
}

void timers::serve(engine::thread& self) {
  for (;;) {
    waits_until_ = next();
    serving_ = false;
    self.wait_until(engine::part::idle, waits_until_);
    serving_ = true;
    if (queue_.empty()) {
      // Everybody waits for somebody; the engine's clock has nowhere to go.
      throw engine::deadlock_error("deadlock: no simulated thread can run and no timer is armed");
    }
    while (!queue_.empty() && queue_.begin()->first <= self.now()) {
      const std::uint32_t index = queue_.begin()->second;
      queue_.erase(queue_.begin());
      slots_[index].armed = false;
      slots_[index].what(self.now());
    }
  }
}

}  // namespace hvsim::sched
