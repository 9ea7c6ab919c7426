// SPDX-License-Identifier: Apache-2.0
// Xen's credit scheduler (xen/common/sched/credit.c).
#pragma once

#include <vector>

#include "sim/sched/policy.hpp"

namespace hvsim::sched {

/// Xen's defaults. Its tick is its own; a slice ends at a tick of the scheduler, so `host.tick`
/// should divide it.
struct credit_options {
  engine::duration slice = engine::milliseconds(30);  ///< also the time between accountings
  engine::duration tick = engine::milliseconds(10);
  engine::duration ratelimit = engine::milliseconds(1);  ///< nobody is preempted sooner
};

/// Entities burn credit as they run and get it by weight at each accounting. Who has some left is
/// `under`, who has overdrawn is `over`, and who wakes up `under` gets a `boost` until the next
/// tick on its CPU. Higher priorities preempt lower ones; equal ones take turns, a slice each. Who
/// has saved more than a slice's worth, because it hardly runs, is left out of the accounting until
/// a tick finds it running. Weights are those of entities, where Xen has domains; balancing between
/// CPUs is the scheduler's, where Xen also takes work of higher priority from other CPUs.
class credit final : public policy {
 public:
  static constexpr std::int8_t boost = 0, under = -1, over = -2;

  credit(std::uint32_t cpus, const credit_options& options);

  void charge(cpu_index c, entity& current, engine::duration d) override;
  void enqueue(cpu_index c, entity& e, enqueue_reason why, const entity* current) override;
  void dequeue(cpu_index c, entity& e) override;
  void block(cpu_index c, entity& e) override;
  entity* pick(cpu_index c, entity* current) override;
  bool tick_preempts(cpu_index c, entity& current) override;
  bool wakeup_preempts(cpu_index c, entity& current, entity& woken) override;
  void yield(cpu_index c, entity& current) override;
  void favour(cpu_index, entity&) override {}  // there is no directed yield
  entity* steal_candidate(cpu_index c, cpu_index to) override;
  engine::duration choose_again_in(cpu_index c, const entity& current) override;
  engine::duration period() const override { return options_.tick; }
  bool periodic(engine::sim_time t) override;

 private:
  struct by_priority {
    bool operator()(const entity& a, const entity& b) const {
      if (a.policy.priority != b.policy.priority) return a.policy.priority > b.policy.priority;
      return a.policy.arrival < b.policy.arrival;
    }
  };
  struct queue {
    entity_tree<by_priority> waiting;
    entity* current = nullptr;
    bool yields = false;
  };

  void account();
  [[nodiscard]] static engine::duration ran(const entity& e) {
    return e.policy.ran - e.policy.ran_when_picked;
  }

  credit_options options_;
  std::vector<queue> queues_;
  std::vector<entity*> accounted_;
};

}  // namespace hvsim::sched
