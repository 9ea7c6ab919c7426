// SPDX-License-Identifier: Apache-2.0
// What every modelled lock counts.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "sim/engine/histogram.hpp"
#include "sim/engine/units.hpp"

namespace hvsim::sync {

/// One side of one lock, as a row of `perf lock contention`. Not thread-safe; one per engine.
class lock_stats {
 public:
  lock_stats(std::string name, std::string type) : name_(std::move(name)), type_(std::move(type)) {}

  void acquired() { ++acquisitions_; }
  void waited(engine::duration d) { times_[1].record(d); }
  void held(engine::duration d) { times_[0].record(d); }
  /// `take`: acquired, and waited for `queued` if that is positive; else held for `held`. Says so
  /// without a branch that the host would have to guess.
  [[gnu::always_inline]] void taken_or_dropped(bool take, engine::duration queued,
                                               engine::duration held) {
    const std::uint64_t one = take ? 1 : 0;
    const std::int64_t mask = -static_cast<std::int64_t>(one);
    const engine::duration d{(queued.ps() & mask) | (held.ps() & ~mask)};
    acquisitions_ += one;
    if ((static_cast<std::uint64_t>(d > engine::duration{}) | (one ^ 1)) == 0) return;
    times_[one].record(d);
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  /// "spinlock", "rwlock:R", "rwlock:W", "rwsem:R": the words of perf.
  [[nodiscard]] const std::string& type() const { return type_; }
  [[nodiscard]] std::uint64_t acquisitions() const { return acquisitions_; }
  [[nodiscard]] std::uint64_t contended() const { return times_[1].count(); }
  [[nodiscard]] const engine::histogram& wait() const { return times_[1]; }
  [[nodiscard]] const engine::histogram& hold() const { return times_[0]; }

 private:
  std::string name_;
  std::string type_;
  std::uint64_t acquisitions_ = 0;
  std::array<engine::histogram, 2> times_;  // held, waited
};

}  // namespace hvsim::sync
