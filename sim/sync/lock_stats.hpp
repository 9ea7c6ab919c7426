// SPDX-License-Identifier: Apache-2.0
// What every modelled lock counts.
#pragma once

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
  void waited(engine::duration d) {
    ++contended_;
    wait_.record(d);
  }
  void held(engine::duration d) { hold_.record(d); }
  /// `take`: acquired, and waited if `d` is positive; else held for `d`. Without branches on
  /// `take`.
  void taken_or_dropped(bool take, engine::duration d) {
    acquisitions_ += take ? 1 : 0;
    const bool waited_or_held = !take || d > engine::duration{};
    if (!waited_or_held) return;
    contended_ += take ? 1 : 0;
    (take ? wait_ : hold_).record(d);
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  /// "spinlock", "rwlock:R", "rwlock:W", "rwsem:R": the words of perf.
  [[nodiscard]] const std::string& type() const { return type_; }
  [[nodiscard]] std::uint64_t acquisitions() const { return acquisitions_; }
  [[nodiscard]] std::uint64_t contended() const { return contended_; }
  [[nodiscard]] const engine::histogram& wait() const { return wait_; }
  [[nodiscard]] const engine::histogram& hold() const { return hold_; }

 private:
  std::string name_;
  std::string type_;
  std::uint64_t acquisitions_ = 0;
  std::uint64_t contended_ = 0;
  engine::histogram wait_;
  engine::histogram hold_;
};

}  // namespace hvsim::sync
