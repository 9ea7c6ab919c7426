// SPDX-License-Identifier: Apache-2.0
// Earliest Eligible Virtual Deadline First, as Linux has it since 6.6 (kernel/sched/fair.c).
#pragma once

#include <vector>

#include "sim/sched/policy.hpp"

namespace hvsim::sched {

/// base_slice at its value for one CPU; the kernel multiplies it by 1 + log2(min(CPUs, 8)), and so
/// does `eevdf`.
struct eevdf_options {
  engine::duration base_slice = engine::microseconds(750);
  engine::duration tick = engine::milliseconds(4);  ///< the least bound of what lag is kept
};

/// Among those that have had no more than their share (lag not negative) the earliest deadline
/// runs, until it has used its request or is no longer eligible (RUN_TO_PARITY). Who sleeps keeps
/// its lag, at most two slices of it (PLACE_LAG); a new entity asks for half a slice at first
/// (PLACE_DEADLINE_INITIAL). Buddies are off, so a directed yield only puts off the yielding
/// entity's deadline.
class eevdf final : public policy {
 public:
  eevdf(std::uint32_t cpus, const eevdf_options& options);

  void charge(cpu_index c, entity& current, engine::duration d) override;
  void enqueue(cpu_index c, entity& e, enqueue_reason why, const entity* current) override;
  void dequeue(cpu_index c, entity& e) override;
  void block(cpu_index c, entity& e) override;
  entity* pick(cpu_index c, entity* current) override;
  bool tick_preempts(cpu_index c, entity& current) override;
  bool wakeup_preempts(cpu_index c, entity& current, entity& woken) override;
  void yield(cpu_index c, entity& current) override;
  void favour(cpu_index, entity&) override {}
  entity* steal_candidate(cpu_index c, cpu_index to) override;

  /// The options after scaling.
  [[nodiscard]] const eevdf_options& effective() const { return options_; }

 private:
  struct by_deadline {
    bool operator()(const entity& a, const entity& b) const {
      return a.policy.deadline < b.policy.deadline;
    }
  };
  struct queue {
    entity_tree<by_deadline> waiting;
    const entity* current = nullptr;
    bool request_used = false;  // by `current`
    std::int64_t empty_at = 0;  // virtual time when nobody was left
  };

  [[nodiscard]] std::int64_t request(const entity& e) const;
  [[nodiscard]] static std::int64_t virtual_time(const queue& q);
  [[nodiscard]] static bool eligible(const queue& q, const entity& e);
  [[nodiscard]] static entity* best(queue& q, entity* current);
  [[nodiscard]] std::int64_t lag(const queue& q, const entity& e) const;

  eevdf_options options_;
  std::vector<queue> queues_;
};

}  // namespace hvsim::sched
