// SPDX-License-Identifier: Apache-2.0
// Entities on the CPUs of a host or of a guest: one scheduler, whatever the policy.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/sched/entity.hpp"
#include "sim/sched/policy.hpp"
#include "sim/sched/timers.hpp"
#include "sim/sched/warmth.hpp"

namespace hvsim::sched {

/// What a scheduler is told once. Sources: Linux 6.1, kernel/sched/fair.c and topology.c.
struct scheduler_options {
  std::uint32_t cpus = 1;
  engine::duration tick = engine::milliseconds(4);  ///< 1/HZ
  engine::duration switch_cost;                     ///< from the decision to the first instruction
  engine::duration wake_latency;                    ///< more, when an idle CPU has to be woken
  /// Whether every CPU ticks all the time. The results are the same; for tests of just that.
  bool always_tick = false;
  bool balance = true;  ///< periodic and new-idle balancing between CPUs
  /// Ticks between two balancings of an idle CPU (in ms one per CPU of the domain); 0: cpus in ms.
  std::uint32_t balance_interval = 0;
  std::uint32_t busy_factor = 16;                               ///< a busy CPU balances less often
  engine::duration migration_cost = engine::microseconds(500);  ///< hot for so long after it ran
  std::uint32_t imbalance_percent = 117;
  warmth_options warmth;  ///< of the CPUs; all are cold at the start
};

/// How a directed yield ended (yield_to of kernel/sched/core.c).
enum class yield_end : std::uint8_t {
  yielded,
  refused,  ///< the target does not wait for a CPU
  alone     ///< nobody else wants either CPU
};

/// Entities lose their CPUs before they have executed anything, again and again, because a context
/// switch outlasts every slice.
class livelock : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One set of CPUs with their run queues. All members are called in the order of virtual time,
/// with `t` the time of the caller, from fibers of one engine. Throws livelock wherever it chooses.
///
/// A CPU can be without power: the scheduler of a guest runs on CPUs that its host takes away.
/// Nothing is decided on such a CPU until it has power again.
class scheduler {
 public:
  scheduler(timers& clock, std::unique_ptr<policy> rules, const scheduler_options& options);
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;

  // Set before use where a guest's scheduler needs them.
  /// An idle CPU without power has work now.
  std::function<void(cpu_index, engine::sim_time)> on_kick;
  /// A CPU with power has nothing to run.
  std::function<void(cpu_index, engine::sim_time)> on_idle;
  /// Time taken from the CPU so far that its scheduler does not count (a steal clock).
  std::function<engine::duration(cpu_index, engine::sim_time)> stolen;
  /// Whether the CPU, idle here, is preempted below (vcpu_is_preempted).
  std::function<bool(cpu_index)> is_preempted;

  /// A new entity becomes runnable; `parent` is the CPU that made it.
  void add(entity& e, cpu_index parent, engine::sim_time t);
  /// A blocked entity becomes runnable; nothing if it is runnable already.
  void wake(entity& e, cpu_index waker, engine::sim_time t);
  /// The running entity `e` blocks, or ends.
  void block(entity& e, engine::sim_time t);
  /// The running entity `e` offers its CPU (sched_yield).
  void yield(entity& e, engine::sim_time t);
  /// The running entity `from` offers its CPU for `to`, which may wait on another CPU.
  yield_end yield_to(entity& from, entity& to, engine::sim_time t);
  /// The running entity may be preempted again: does what was put off.
  void preempt_enabled(cpu_index c, engine::sim_time t) {
    if (queues_[c.value()].need_resched) schedule(c, t, off_cpu::preempted);
  }
  void set_power(cpu_index c, bool on, engine::sim_time t);

  [[nodiscard]] std::uint32_t cpus() const { return options_.cpus; }
  [[nodiscard]] entity* current(cpu_index c) const { return queues_[c.value()].current; }
  /// Entities that run on the CPU or wait for it.
  [[nodiscard]] std::uint32_t runnable(cpu_index c) const {
    const run_queue& q = queues_[c.value()];
    return q.queued + (q.current != nullptr ? 1 : 0);
  }
  [[nodiscard]] bool powered(cpu_index c) const { return queues_[c.value()].powered; }
  [[nodiscard]] bool must_reschedule(cpu_index c) const { return queues_[c.value()].need_resched; }
  /// Of the CPU; nullptr if nothing makes it cold. Whoever runs on it asks and tells.
  [[nodiscard]] warmth* warmth_of(cpu_index c) {
    return warmths_.empty() ? nullptr : &warmths_[c.value()];
  }
  [[nodiscard]] std::uint64_t switches() const { return switches_; }
  [[nodiscard]] std::uint64_t migrations() const { return migrations_; }

 private:
  struct run_queue {
    entity* current = nullptr;
    std::uint32_t queued = 0;
    std::uint64_t load = 0;  // weights of queued and current
    bool powered = true;
    bool need_resched = false;
    bool tick_missed = false;
    std::uint32_t failed_balances = 0;
    engine::sim_time charged;  // by the scheduler's clock
    engine::sim_time idle_since;
    timer_id tick{};
    timer_id choose_again{};
  };

  [[nodiscard]] run_queue& queue(cpu_index c) { return queues_[c.value()]; }
  [[nodiscard]] bool idle(cpu_index c) const;
  [[nodiscard]] engine::sim_time clock(cpu_index c, engine::sim_time t) const;
  void charge(cpu_index c, engine::sim_time t);
  void schedule(cpu_index c, engine::sim_time t, off_cpu reason);
  void reschedule(cpu_index c, engine::sim_time t);
  void require_progress(const entity& gone, bool preempted, engine::sim_time t);
  void enqueue(cpu_index c, entity& e, enqueue_reason why);
  void arrive(cpu_index c, entity& e, enqueue_reason why, engine::sim_time t);
  [[nodiscard]] cpu_index select_wake_cpu(const entity& e, cpu_index waker) const;
  [[nodiscard]] cpu_index select_new_cpu(const entity& e, cpu_index parent) const;

  // Ticks.
  void need_tick(cpu_index c, engine::sim_time t);
  void tick(cpu_index c, engine::sim_time t);
  void period(engine::sim_time t);

  // balance.cpp
  enum class balance_kind : std::uint8_t { idle, busy, new_idle };
  void balance_tick(engine::sim_time t);
  void balance(cpu_index c, engine::sim_time t);
  bool pull(cpu_index c, engine::sim_time t);
  [[nodiscard]] std::uint32_t busiest(cpu_index c) const;
  std::uint32_t take_from(cpu_index from, cpu_index to, std::int64_t imbalance, balance_kind kind,
                          engine::sim_time t);

  timers& timers_;
  std::unique_ptr<policy> policy_;
  scheduler_options options_;
  std::vector<run_queue> queues_;
  std::vector<warmth> warmths_;  // by CPU; none if a rest does nothing
  timer_id balance_timer_{};
  timer_id period_timer_{};
  std::uint32_t waiting_ = 0;  // queued entities of all CPUs
  std::uint64_t arrivals_ = 0;
  std::uint64_t switches_ = 0;
  std::uint64_t migrations_ = 0;
  std::uint32_t futile_ = 0;  // switches in a row away from who had not executed anything
};

}  // namespace hvsim::sched
