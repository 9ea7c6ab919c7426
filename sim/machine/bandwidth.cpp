// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/bandwidth.hpp"

#include <algorithm>
#include <cmath>

#include "sim/engine/wide.hpp"

namespace hvsim::machine {

namespace {

constexpr std::uint64_t one = 65536;

// Cube root by Newton's method: additions, multiplications and divisions only, which IEEE 754
// rounds alike everywhere (libm's pow and cbrt are not).
double cube_root(double x) {
  double y = x > 1 ? x : 1;
  for (int i = 0; i < 200; ++i) {
    const double next = y - (y * y * y - x) / (3 * y * y);
    if (next == y) break;
    y = next;
  }
  return y;
}

double slow(double load) {
  const double root = std::sqrt(1 + load * cube_root(load));
  return root * std::sqrt(root);
}

std::int64_t scale(std::int64_t value, std::uint64_t numerator, std::uint64_t denominator) {
  return static_cast<std::int64_t>(
      (static_cast<engine::wide>(value) * numerator + denominator - 1) / denominator);
}

}  // namespace

bandwidth::bandwidth(std::int64_t clear_demand, std::int64_t clean_demand, std::int64_t capacity,
                     std::uint32_t max_passes)
    : demand_{clear_demand, clean_demand},
      capacity_(capacity),
      stride_(max_passes + 1),
      table_(static_cast<std::size_t>(stride_) * stride_, 0) {}

std::uint64_t bandwidth::slowdown(std::uint32_t clears, std::uint32_t cleans) {
  std::uint64_t& f = table_[static_cast<std::size_t>(clears) * stride_ + cleans];
  if (f == 0) {
    const double load =
        (static_cast<double>(demand_[0]) * clears + static_cast<double>(demand_[1]) * cleans) /
        static_cast<double>(capacity_);
    f = static_cast<std::uint64_t>(slow(load) * double{one} + 0.5);
  }
  return f;
}

void bandwidth::catch_up(engine::sim_time now) {
  if (!active_.empty() && now > updated_)
    progress_ += static_cast<std::int64_t>(static_cast<engine::wide>((now - updated_).ps()) * one /
                                           present());
  updated_ = now;
}

engine::sim_time bandwidth::end_of(const active& a) {
  const std::int64_t left = std::max<std::int64_t>(0, a.done_at - progress_);
  return updated_ + engine::duration{scale(left, present(), one)};
}

void bandwidth::move_others(const engine::thread& self, engine::sim_time now) {
  for (const active& a : active_)
    if (a.who != &self) self.owner().move_wait(*a.who, std::max(end_of(a), now));
}

void bandwidth::begin(const active& a, engine::sim_time now) {
  active_.push_back(a);
  ++count_[static_cast<int>(a.kind)];
  move_others(*a.who, now);
}

void bandwidth::end(const engine::thread& t, engine::sim_time now) {
  catch_up(now);
  const auto it =
      std::find_if(active_.begin(), active_.end(), [&t](const active& a) { return a.who == &t; });
  if (it == active_.end()) return;  // paused
  if (it->left != nullptr) *it->left = 0;
  --count_[static_cast<int>(it->kind)];
  active_.erase(it);
  move_others(t, now);
}

void bandwidth::transfer(engine::thread& t, engine::part p, pass kind, engine::duration alone) {
  t.sync();
  catch_up(t.now());
  const std::uint64_t own = kind == pass::clear ? slowdown(1, 0) : slowdown(0, 1);
  const std::int64_t work = scale(alone.ps(), one, own);
  if (engine::cpu_sharing* const cpus = t.owner().sharing()) [[unlikely]] {
    transfer_by_stretches(*cpus, t, p, kind, work);
    return;
  }
  begin({&t, progress_ + work, kind, nullptr}, t.now());
  t.wait_until(p, end_of(active_.back()));
  end(t, t.now());
}

void bandwidth::transfer_by_stretches(engine::cpu_sharing& cpus, engine::thread& t, engine::part p,
                                      pass kind, std::int64_t work) {
  for (std::int64_t left = work; left != 0;) {
    t.sync();
    catch_up(t.now());
    begin({&t, progress_ + left, kind, &left}, t.now());
    cpus.wait_on_cpu(t, p, end_of(active_.back()), *this);
    end(t, t.now());
  }
}

void bandwidth::cpu_lost(engine::thread& t, engine::sim_time now) {
  catch_up(now);
  const auto it =
      std::find_if(active_.begin(), active_.end(), [&t](const active& a) { return a.who == &t; });
  const std::int64_t left = std::max<std::int64_t>(0, it->done_at - progress_);
  std::int64_t* const paused = it->left;
  end(t, now);
  *paused = left;
}

engine::duration bandwidth::loaded(engine::duration alone) {
  return engine::duration{scale(alone.ps(), present(), one)};
}

}  // namespace hvsim::machine
