// SPDX-License-Identifier: Apache-2.0
// Watches that locks exclude.
#pragma once

#include <unordered_map>
#include <vector>

#include "sim/engine/engine.hpp"

namespace hvsim::check {

/// An exclusive holder is alone with its lock, in the order of steps and, in timed runs, by the
/// clocks as well: nobody takes a lock earlier than the last one has dropped it. Who drops a lock
/// holds it, on the side that it drops.
class mutual_exclusion final : public engine::observer {
 public:
  void lock_taken(const engine::thread& t, const void* lock, const char* name,
                  bool exclusive) override;
  void lock_dropped(const engine::thread& t, const void* lock, const char* name,
                    bool exclusive) override;

  /// Acquisitions seen.
  [[nodiscard]] std::uint64_t taken() const { return taken_; }

 private:
  struct holder {
    const engine::thread* who;
    bool exclusive;
  };
  struct last_drop {
    engine::sim_time at;
    const engine::thread* who = nullptr;
  };
  struct record {
    std::vector<holder> holders;
    last_drop exclusive, any;
  };
  std::unordered_map<const void*, record> locks_;  // never iterated
  std::uint64_t taken_ = 0;
};

}  // namespace hvsim::check
