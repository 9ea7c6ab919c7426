// SPDX-License-Identifier: Apache-2.0
// The machine of one run: costs, distances and the resources that cores share.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/engine/random.hpp"
#include "sim/machine/bandwidth.hpp"
#include "sim/machine/profile.hpp"
#include "sim/machine/topology.hpp"

namespace hvsim::machine {

/// One contended cache line: who has it and from when on it can move again. Named by its owner
/// (mmap_lock, mmu_lock, a dirty bitmap line). Zero-initialised lines belong to core 0.
struct line {
  engine::sim_time free_at;
  engine::core_id owner;
};

/// A simulated thread on its core, with its stream of random draws.
struct cpu {
  engine::thread* thread = nullptr;
  engine::core_id core;
  engine::random_stream random;
};

/// Shared by all threads of one engine; methods are called from their fibers.
class machine {
 public:
  explicit machine(const profile& p)
      : profile_(p),
        topology_(p.shape),
        dram_(clear_demand(p.costs), clean_demand(p.costs), p.costs.dram_bandwidth,
              p.shape.cores + 1) {
    const std::uint32_t n = topology_.cores();
    row_shift_ = static_cast<unsigned>(std::bit_width(n - 1));
    distance_.resize(std::size_t{n} << row_shift_);
    transfer_.push_back(p.costs.line_local.mean);
    for (std::uint32_t a = 0; a < n; ++a)
      for (std::uint32_t b = 0; b < n; ++b) {
        if (a == b) continue;
        const std::uint32_t hops = topology_.hops(engine::core_id{a}, engine::core_id{b});
        while (transfer_.size() < hops + 2)
          transfer_.push_back(p.costs.line_transfer.mean +
                              p.costs.line_hop.mean *
                                  static_cast<std::int64_t>(transfer_.size() - 1));
        distance_[(std::size_t{a} << row_shift_) + b] = static_cast<std::uint16_t>(hops + 1);
      }
  }

  [[nodiscard]] const profile& description() const { return profile_; }
  [[nodiscard]] const cost_table& costs() const { return profile_.costs; }
  [[nodiscard]] const feature_table& features() const { return profile_.features; }
  [[nodiscard]] const topology& shape() const { return topology_; }
  [[nodiscard]] bandwidth& dram() { return dram_; }

  /// Time for a line to get from one core to another; an atomic on it when they are the same.
  [[nodiscard]] engine::duration transfer_time(engine::core_id from, engine::core_id to) const {
    return transfer_[distance_[(std::size_t{from.value()} << row_shift_) + to.value()]];
  }

  /// An atomic read-modify-write: syncs, waits until the line can move, moves it. A line serves
  /// one core at a time, so its transfers queue.
  void read_modify_write(cpu& c, line& l, engine::part p) {
    c.thread->sync();
    take_line(c, l, p);
  }

  /// The same for a caller that has synced already.
  void take_line(cpu& c, line& l, engine::part p) {
    c.thread->pass_until(book_line(*c.thread, c.core, l, engine::place_of(p)));
  }
  /// Moves and books it, and returns until when the thread has to pass its time.
  /// `place`: engine::place_of the part.
  engine::sim_time book_line(engine::thread& t, engine::core_id core, line& l,
                             std::size_t place) const {
    const engine::sim_time begin = t.now();
    const engine::sim_time end = std::max(begin, l.free_at) + transfer_time(l.owner, core);
    l.free_at = end;
    l.owner = core;
    t.book_at(place, end - begin);
    return end;
  }

  /// Broadcast TLBI and DSB ISH by one core. Interconnect and the answering cores serve one
  /// request at a time; its cost grows with the cores that must answer.
  void tlbi_broadcast(cpu& c) {
    c.thread->sync();
    const engine::duration answers = costs().tlbi_answer.mean * topology_.cores();
    const engine::sim_time start = std::max(c.thread->now(), tlbi_free_at_);
    tlbi_free_at_ = start + answers;
    c.thread->advance_to(engine::part::tlbi,
                         start + answers + costs().tlbi_broadcast.draw(c.random));
  }

  /// TLBI and DSB NSH: nobody else is asked.
  void tlbi_local(cpu& c) {
    c.thread->advance(engine::part::tlbi, costs().tlbi_local.draw(c.random));
  }

  /// Shortest time between a broadcast TLBI being issued and being complete: until then another
  /// core's translations may be used, so a guest may run ahead by as much.
  [[nodiscard]] engine::duration tlbi_shortest() const {
    return costs().tlbi_answer.mean * topology_.cores() + costs().tlbi_broadcast.mean / 2;
  }

 private:
  /// Bytes per second that one core sends to DRAM while it clears a block. Every line gets there
  /// once: during the clearing, or during the cleaning that follows.
  static std::int64_t clear_demand(const cost_table& c) {
    return std::max<std::int64_t>(1, c.zero_bandwidth / 1000 * c.clear_dram_permille);
  }
  static std::int64_t clean_demand(const cost_table& c) {
    constexpr std::int64_t line_ps_per_second = 64 * std::int64_t{1'000'000'000'000};
    return std::max<std::int64_t>(1, line_ps_per_second /
                                         std::max<std::int64_t>(1, c.clean_line.mean.ps()) / 1000 *
                                         (1000 - c.clear_dram_permille));
  }

  profile profile_;
  topology topology_;
  bandwidth dram_;
  unsigned row_shift_ = 0;
  std::vector<std::uint16_t> distance_;     // of two cores, small to stay in the host's cache
  std::vector<engine::duration> transfer_;  // by distance; 0 is one core
  engine::sim_time tlbi_free_at_;
};

}  // namespace hvsim::machine
