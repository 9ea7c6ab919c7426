// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/bandwidth.hpp"

#include <algorithm>
#include <cmath>

#include "sim/engine/wide.hpp"

namespace hvsim::machine {

namespace {

constexpr std::uint64_t one = 65536;

// x^(2/3) by Newton's method on y^3 = x^2: additions, multiplications and divisions only, which
// IEEE 754 rounds alike everywhere (libm's pow and cbrt are not).
double two_thirds_power(double x) {
  const double square = x * x;
  double y = x > 1 ? x : 1;
  for (int i = 0; i < 200; ++i) {
    const double next = y - (y * y * y - square) / (3 * y * y);
    if (next == y) break;
    y = next;
  }
  return y;
}

double shape(double load) { return two_thirds_power(1 + load * std::sqrt(load)); }

}  // namespace

bandwidth::bandwidth(std::int64_t alone, std::int64_t together, std::uint32_t max_transfers) {
  const double ratio = static_cast<double>(alone) / static_cast<double>(together);
  const double unit = shape(ratio);
  slowdown_.push_back(one);
  for (std::uint32_t n = 1; n <= max_transfers + 1; ++n)
    slowdown_.push_back(
        std::max(one, static_cast<std::uint64_t>(shape(n * ratio) / unit * double{one} + 0.5)));
}

void bandwidth::catch_up(engine::sim_time now) {
  if (!active_.empty() && now > updated_)
    progress_ += static_cast<std::int64_t>(
        static_cast<engine::wide>((now - updated_).ps()) * one / slowdown_[active_.size()]);
  updated_ = now;
}

engine::sim_time bandwidth::end_of(const active& a) const {
  const auto left = static_cast<std::uint64_t>(std::max<std::int64_t>(0, a.done_at - progress_));
  const std::uint64_t slow = slowdown_[active_.size()];
  const auto wait = static_cast<std::int64_t>(
      (static_cast<engine::wide>(left) * slow + one - 1) / one);
  return updated_ + engine::duration{wait};
}

void bandwidth::move_others(const engine::thread& self) {
  for (const active& a : active_)
    if (a.who != &self) self.owner().move_wait(*a.who, std::max(end_of(a), self.now()));
}

void bandwidth::transfer(engine::thread& t, engine::part p, engine::duration unloaded) {
  t.sync();
  catch_up(t.now());
  active_.push_back({&t, progress_ + unloaded.ps()});
  move_others(t);
  t.wait_until(p, end_of(active_.back()));
  catch_up(t.now());
  std::erase_if(active_, [&t](const active& a) { return a.who == &t; });
  move_others(t);
}

engine::duration bandwidth::loaded(engine::duration unloaded) const {
  const std::uint64_t slow = slowdown_[active_.size() + 1];
  return engine::duration{static_cast<std::int64_t>(
      static_cast<engine::wide>(unloaded.ps()) * slow / one)};
}

}  // namespace hvsim::machine
