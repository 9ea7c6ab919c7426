// SPDX-License-Identifier: Apache-2.0
// The round numbers of configs/machines/unit.yaml that locks and lines need, without the parser.
#pragma once

#include <string>

#include "sim/machine/machine.hpp"

namespace unit {

/// 16 cores, two a cluster, two clusters a crosspoint, a mesh of 2 by 2. An atomic on an owned line
/// 1 ns, a transfer 10 ns and 1 ns a step, TLBI 100 ns and 10 ns a core, a grace period of 10 ms.
inline hvsim::machine::profile profile() {
  using hvsim::engine::milliseconds;
  using hvsim::engine::nanoseconds;
  hvsim::machine::profile p;
  p.name = "unit";
  p.shape = {1, 16, 2, 2, 2};
  p.costs.line_local.mean = nanoseconds(1);
  p.costs.line_transfer.mean = nanoseconds(10);
  p.costs.line_hop.mean = nanoseconds(1);
  p.costs.tlbi_broadcast.mean = nanoseconds(100);
  p.costs.tlbi_answer.mean = nanoseconds(10);
  p.costs.tlbi_local.mean = nanoseconds(10);
  p.costs.rcu_grace.mean = milliseconds(10);
  p.costs.clean_line.mean = nanoseconds(1);
  p.costs.zero_bandwidth = 1'000'000'000;
  p.costs.dram_bandwidth = 4'000'000'000;
  return p;
}

/// An engine with threads on cores 0, 1, 2, ... of a unit machine.
struct world {
  explicit world(hvsim::engine::chooser* explore = nullptr,
                 const hvsim::machine::profile& p = profile())
      : engine(explore), machine(p) {}

  /// A thread on the next core, from `start` on.
  template <class Body>
  void add(hvsim::engine::duration start, Body body) {
    const auto core = next_core++;
    engine.spawn("t" + std::to_string(core), hvsim::engine::sim_time{} + start,
                 [core, body](hvsim::engine::thread& t) {
                   hvsim::machine::cpu c;
                   c.thread = &t;
                   c.core = hvsim::engine::core_id{core};
                   body(c);
                 });
  }

  hvsim::engine::engine engine;
  hvsim::machine::machine machine;
  std::uint32_t next_core = 0;
};

/// Nanoseconds since the start.
inline std::int64_t ns(const hvsim::machine::cpu& c) {
  return c.thread->now().ps() / 1000;
}

}  // namespace unit
