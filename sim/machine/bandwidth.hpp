// SPDX-License-Identifier: Apache-2.0
// DRAM bandwidth shared by long transfers: processor sharing with loaded latency.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/engine/units.hpp"

namespace hvsim::machine {

/// Passes over a block of memory that send it to DRAM.
enum class pass : std::uint8_t {
  clear,  ///< writing zeroes: part of the block is evicted meanwhile, the rest stays in caches
  clean   ///< DC CIVAC: pushes out what the caches hold
};

/// Passes that are under way slow each other down. With a total demand of u times what DRAM takes,
/// every pass runs
///   F(u) = (1 + u^(4/3))^(3/4)
/// times longer than on an idle machine: 1 without load, u at saturation, and a smooth rise
/// between, as loaded-latency curves of DRAM have. A pass alone already has its own load, so its
/// stated length includes F of its own demand. F is computed with correctly rounded operations
/// only, so every host has the same values.
///
/// A thread that loses its CPU pauses its pass: what cores do not ask for loads nobody.
///
/// Used by the fibers of one engine.
class bandwidth final : private engine::cpu_listener {
 public:
  /// Demands of one clear and one clean pass and the capacity, in bytes per second, all positive.
  bandwidth(std::int64_t clear_demand, std::int64_t clean_demand, std::int64_t capacity,
            std::uint32_t max_passes);

  /// Runs a pass that takes `alone` on an idle machine; returns when it is complete. The time is
  /// booked as `p`.
  void transfer(engine::thread& t, engine::part p, pass kind, engine::duration alone);

  /// Length of a short pass at the present load; the load does not see it.
  [[nodiscard]] engine::duration loaded(engine::duration alone);

  /// F with so many passes of each kind under way, in 1/65536.
  [[nodiscard]] std::uint64_t slowdown(std::uint32_t clears, std::uint32_t cleans);

 private:
  struct active {
    engine::thread* who;
    std::int64_t done_at;  // in units of progress
    pass kind;
    std::int64_t* left;  // what a pause leaves to do; null where CPUs are not shared
  };
  void cpu_lost(engine::thread& t, engine::sim_time now) override;
  void cpu_got(engine::thread&, engine::sim_time) override {}
  void transfer_by_stretches(engine::cpu_sharing& cpus, engine::thread& t, engine::part p,
                             pass kind, std::int64_t work);
  void begin(const active& a, engine::sim_time now);
  void end(const engine::thread& t, engine::sim_time now);
  void catch_up(engine::sim_time now);
  [[nodiscard]] engine::sim_time end_of(const active& a);
  void move_others(const engine::thread& self, engine::sim_time now);
  [[nodiscard]] std::uint64_t present() { return slowdown(count_[0], count_[1]); }

  std::int64_t demand_[2];
  std::int64_t capacity_;
  std::uint32_t stride_;
  std::vector<std::uint64_t> table_;  // 0: not computed yet
  std::vector<active> active_;
  std::uint32_t count_[2] = {0, 0};
  std::int64_t progress_ = 0;  // load-free picoseconds that each active pass has received
  engine::sim_time updated_;
};

}  // namespace hvsim::machine
