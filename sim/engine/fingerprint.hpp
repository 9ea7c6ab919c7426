// SPDX-License-Identifier: Apache-2.0
// Order-sensitive hash of a stream of events.
#pragma once

#include <cstdint>

namespace hvsim::engine {

/// One stream's running hash. Each thread and each lock has its own, because lazy local time makes
/// the global order of execution meaningless; results combine them in a fixed order.
class fingerprint {
 public:
  void add(std::uint64_t word) {
    state_ = (state_ ^ word) * 0x9e3779b97f4a7c15ULL;
    state_ ^= state_ >> 29;
  }
  [[nodiscard]] std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0x243f6a8885a308d3ULL;
};

}  // namespace hvsim::engine
