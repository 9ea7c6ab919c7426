// SPDX-License-Identifier: Apache-2.0
// The rules of one scheduler: who runs next on a CPU, and for how long.
#pragma once

#include <boost/intrusive/set.hpp>
#include <cstdint>

#include "sim/sched/entity.hpp"

namespace hvsim::sched {

/// How an entity enters a queue.
enum class enqueue_reason : std::uint8_t { created, woken, preempted, migrated };

/// One policy over all CPUs of one scheduler, which keeps the times: a policy sees run times
/// through `charge`. The running entity of a CPU is in no queue. Integers only. Not thread-safe.
class policy {
 public:
  virtual ~policy() = default;

  /// `current` (may be null) ran for `d` more on the CPU.
  virtual void charge(cpu_index c, entity& current, engine::duration d) = 0;
  /// `e` becomes runnable on `c` but does not run. `current` may be null.
  virtual void enqueue(cpu_index c, entity& e, enqueue_reason why, const entity* current) = 0;
  /// `e` leaves the queue other than by `pick`: it goes to another CPU.
  virtual void dequeue(cpu_index c, entity& e) = 0;
  /// `e` leaves the CPU's run queue as it blocks. It was running.
  virtual void block(cpu_index c, entity& e) = 0;
  /// Takes the entity that shall run out of the queue. `current` is runnable and competes, or null.
  /// Returns `current` itself if it shall go on, null if there is nobody.
  virtual entity* pick(cpu_index c, entity* current) = 0;
  /// Whether a tick ends the run of `current`, others being queued.
  virtual bool tick_preempts(cpu_index c, entity& current) = 0;
  /// Whether `woken`, in the queue already, shall preempt `current`.
  virtual bool wakeup_preempts(cpu_index c, entity& current, entity& woken) = 0;
  /// `current` offers its CPU (sched_yield).
  virtual void yield(cpu_index c, entity& current) = 0;
  /// `target`, queued on `c`, should run next there (the buddy of yield_to).
  virtual void favour(cpu_index c, entity& target) = 0;
  /// The queued entity that a balancer should take to CPU `to`, or null.
  virtual entity* steal_candidate(cpu_index c, cpu_index to) = 0;
  /// After a wake-up that does not preempt `current` now: how long until the CPU shall choose
  /// again. Zero: no sooner than otherwise.
  virtual engine::duration choose_again_in(cpu_index, const entity&) { return {}; }
  /// Zero, or how often `periodic` is called, at multiples, while anybody is about.
  [[nodiscard]] virtual engine::duration period() const { return {}; }
  /// All run times have been charged until `t`. False: not again before the next `enqueue`.
  virtual bool periodic(engine::sim_time) { return false; }
};

/// Queued entities in the order of `Before`; equal ones in the order of insertion.
template <class Before>
using entity_tree =
    boost::intrusive::multiset<entity, boost::intrusive::compare<Before>,
                               boost::intrusive::member_hook<entity, tree_hook, &entity::hook>>;

/// Who of a queue may go to CPU `to` and has been off its CPU for longest, or null.
template <class Queue>
entity* coldest(Queue& waiting, cpu_index to) {
  entity* best = nullptr;
  for (entity& e : waiting) {
    if (!e.allowed.contains(to)) continue;
    if (best == nullptr || e.last_ran < best->last_ran ||
        (e.last_ran == best->last_ran && e.policy.arrival < best->policy.arrival))
      best = &e;
  }
  return best;
}

}  // namespace hvsim::sched
