// SPDX-License-Identifier: Apache-2.0
// The Completely Fair Scheduler as of Linux 6.1 (kernel/sched/fair.c, features.h).
#pragma once

#include <vector>

#include "sim/sched/policy.hpp"

namespace hvsim::sched {

/// Tunables at their values for one CPU; the kernel multiplies the first three by
/// 1 + log2(min(CPUs, 8)), and so does `cfs`.
struct cfs_options {
  engine::duration latency = engine::milliseconds(6);
  engine::duration min_granularity = engine::microseconds(750);
  engine::duration wakeup_granularity = engine::milliseconds(1);
  std::uint32_t nr_latency = 8;  ///< from more runnable entities on the period grows
};

/// Runs who has had least, by weight. Ticks decide when a slice is over, so slices come out in
/// whole ticks. GENTLE_FAIR_SLEEPERS, START_DEBIT, WAKEUP_PREEMPTION and LAST_BUDDY as by default.
class cfs final : public policy {
 public:
  cfs(std::uint32_t cpus, const cfs_options& options);

  void charge(cpu_index c, entity& current, engine::duration d) override;
  void enqueue(cpu_index c, entity& e, enqueue_reason why, const entity* current) override;
  void dequeue(cpu_index c, entity& e) override;
  void block(cpu_index c, entity& e) override;
  entity* pick(cpu_index c, entity* current) override;
  bool tick_preempts(cpu_index c, entity& current) override;
  bool wakeup_preempts(cpu_index c, entity& current, entity& woken) override;
  void yield(cpu_index c, entity& current) override;
  void favour(cpu_index c, entity& target) override;
  entity* steal_candidate(cpu_index c, cpu_index to) override;

  /// The options after scaling.
  [[nodiscard]] const cfs_options& effective() const { return options_; }

 private:
  struct by_vruntime {
    bool operator()(const entity& a, const entity& b) const {
      return a.policy.vruntime < b.policy.vruntime;
    }
  };
  struct queue {
    entity_tree<by_vruntime> waiting;
    std::int64_t min_vruntime = 0;
    std::uint64_t load = 0;  // weights of `waiting`
    entity* next = nullptr;
    entity* last = nullptr;
    entity* skip = nullptr;
  };

  void update_min(queue& q, const entity* current);
  void forget(queue& q, const entity& e);
  [[nodiscard]] engine::duration slice(const entity& e, std::uint64_t others,
                                       std::uint32_t running) const;
  /// 1: `e` leads by more than the wake-up granularity; 0: by less; -1: not at all.
  [[nodiscard]] int lead(const entity& current, const entity& e) const;

  cfs_options options_;
  std::vector<queue> queues_;
};

}  // namespace hvsim::sched
