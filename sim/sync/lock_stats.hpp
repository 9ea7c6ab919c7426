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

  void acquired(std::uint64_t times = 1) { acquisitions_ += times; }
  void waited(engine::duration d) { wait_.record(d); }
  void held(engine::duration d) { hold_.record(d); }
  /// To say many at once.
  [[nodiscard]] engine::histogram::recorder waits() { return engine::histogram::recorder(wait_); }
  [[nodiscard]] engine::histogram::recorder holds() { return engine::histogram::recorder(hold_); }

  [[nodiscard]] const std::string& name() const { return name_; }
  /// "spinlock", "rwlock:R", "rwlock:W", "rwsem:R": the words of perf.
  [[nodiscard]] const std::string& type() const { return type_; }
  [[nodiscard]] std::uint64_t acquisitions() const { return acquisitions_; }
  [[nodiscard]] std::uint64_t contended() const { return wait_.count(); }
  [[nodiscard]] const engine::histogram& wait() const { return wait_; }
  [[nodiscard]] const engine::histogram& hold() const { return hold_; }

 private:
  std::string name_;
  std::string type_;
  std::uint64_t acquisitions_ = 0;
  engine::histogram hold_, wait_;
};

}  // namespace hvsim::sync
