// SPDX-License-Identifier: Apache-2.0
// Load balancing over one flat domain: what find_busiest_group, calculate_imbalance and
// detach_tasks of kernel/sched/fair.c come to when every group is one CPU of a shared cache.
#include <algorithm>

#include "sim/sched/scheduler.hpp"

namespace hvsim::sched {

using engine::sim_time;

namespace {
constexpr std::uint32_t nobody = ~0U;
constexpr std::uint32_t cache_nice_tries = 1;
constexpr std::uint32_t most_moved = 32;  // sched_nr_migrate
}  // namespace

void scheduler::balance_tick(sim_time t) {
  if (waiting_ == 0) return;
  timers_.arm(balance_timer_, next_multiple(t, options_.tick));
  // Counted from the start of time, so that ticks which were left out change nothing.
  const auto number = static_cast<std::uint64_t>(t.ps() / options_.tick.ps());
  for (std::uint32_t i = 0; i < options_.cpus; ++i) {
    const cpu_index c{i};
    const run_queue& q = queue(c);
    const bool is_idle = idle(c);
    if (!is_idle && !q.powered) continue;  // its scheduler does not run
    const std::uint64_t interval =
        std::uint64_t{options_.balance_interval} * (is_idle ? 1 : options_.busy_factor);
    if ((number + i) % interval == 0) balance(c, t);
  }
}

std::uint32_t scheduler::busiest(cpu_index c) const {
  std::uint32_t best = nobody;
  for (std::uint32_t i = 0; i < options_.cpus; ++i) {
    const run_queue& q = queues_[i];
    if (cpu_index{i} == c || q.queued == 0) continue;
    if (best == nobody || q.load > queues_[best].load) best = i;
  }
  return best;
}

void scheduler::balance(cpu_index c, sim_time t) {
  run_queue& here = queue(c);
  const std::uint32_t from = busiest(c);
  if (from == nobody) return;
  const run_queue& there = queues_[from];
  std::uint32_t moved = 0;
  if (runnable(c) == 0) {
    const std::int64_t tasks = std::max<std::int64_t>(1, runnable(cpu_index{from}) / 2);
    moved = take_from(cpu_index{from}, c, tasks, balance_kind::idle, t);
  } else {
    std::uint64_t total = 0;
    for (const run_queue& q : queues_) total += q.load;
    const std::uint64_t average = total / options_.cpus;
    if (here.load >= there.load || here.load >= average) return;
    if (100 * there.load <= options_.imbalance_percent * here.load) return;
    const auto imbalance =
        static_cast<std::int64_t>(std::min(there.load - average, average - here.load));
    moved = take_from(cpu_index{from}, c, imbalance, balance_kind::busy, t);
  }
  here.failed_balances = moved != 0 ? 0 : here.failed_balances + 1;
}

bool scheduler::pull(cpu_index c, sim_time t) {
  if (!options_.balance) return false;
  const std::uint32_t from = busiest(c);
  return from != nobody && take_from(cpu_index{from}, c, 1, balance_kind::new_idle, t) != 0;
}

std::uint32_t scheduler::take_from(cpu_index from, cpu_index to, std::int64_t imbalance,
                                   balance_kind kind, sim_time t) {
  const std::uint32_t tries = queue(to).failed_balances;
  const bool by_load = kind == balance_kind::busy;
  std::uint32_t moved = 0;
  while (imbalance > 0 && moved < most_moved && queue(from).queued != 0) {
    entity* const e = policy_->steal_candidate(from, to);
    if (e == nullptr) break;
    const bool hot = t - e->last_ran < options_.migration_cost && e->last_ran != sim_time{};
    if (hot && tries <= cache_nice_tries) break;
    const std::int64_t load = e->weight;
    if (by_load && (load >> std::min(tries, 10U)) > imbalance) break;
    imbalance -= by_load ? load : 1;
    ++moved;
    ++migrations_;
    policy_->dequeue(from, *e);
    e->queued = false;
    --queue(from).queued;
    --waiting_;
    queue(from).load -= e->weight;
    if (kind == balance_kind::new_idle) {
      // The caller picks it; the queue is about to be looked at.
      queue(to).load += e->weight;
      enqueue(to, *e, enqueue_reason::migrated);
      break;
    }
    arrive(to, *e, enqueue_reason::migrated, t);
  }
  return moved;
}

}  // namespace hvsim::sched
