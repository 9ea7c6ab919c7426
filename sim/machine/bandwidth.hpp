// SPDX-License-Identifier: Apache-2.0
// DRAM bandwidth shared by long transfers: processor sharing with loaded latency.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/engine/units.hpp"

namespace hvsim::machine {

/// Transfers that clear or clean memory in bulk. With n of them under way each takes
///   F(n) = (1 + (n * r / C)^(3/2))^(2/3)
/// times its unloaded length, where r is what one core moves alone and C what the machine moves
/// together: 1 for n = 1 far below capacity, n * r / C at saturation, and a smooth rise between,
/// as loaded-latency curves of DRAM have (F is scaled so that F(1) = 1). F is tabulated in fixed
/// point with correctly rounded operations only, so every host has the same table.
///
/// Used by the fibers of one engine.
class bandwidth {
 public:
  /// `alone` and `together` in bytes per second, both positive.
  bandwidth(std::int64_t alone, std::int64_t together, std::uint32_t max_transfers);

  /// Runs a transfer that would take `unloaded` alone; returns when it is complete. The time is
  /// booked as `p`.
  void transfer(engine::thread& t, engine::part p, engine::duration unloaded);

  /// Length of a short transfer at the present load; the load does not see it.
  [[nodiscard]] engine::duration loaded(engine::duration unloaded) const;

  /// Slow-down with n transfers, in 1/65536.
  [[nodiscard]] std::uint64_t slowdown(std::size_t n) const { return slowdown_[n]; }

 private:
  struct active {
    engine::thread* who;
    std::int64_t done_at;  // in units of progress
  };
  void catch_up(engine::sim_time now);
  [[nodiscard]] engine::sim_time end_of(const active& a) const;
  void move_others(const engine::thread& self);

  std::vector<std::uint64_t> slowdown_;
  std::vector<active> active_;
  std::int64_t progress_ = 0;  // unloaded picoseconds that each active transfer has received
  engine::sim_time updated_;
};

}  // namespace hvsim::machine
