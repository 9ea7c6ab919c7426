// SPDX-License-Identifier: Apache-2.0
#include "sim/sched/scheduler.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hvsim::sched {

using engine::duration;
using engine::sim_time;

namespace {
constexpr std::uint32_t most_futile = 1 << 15;
}

scheduler::scheduler(timers& clock, std::unique_ptr<policy> rules, const scheduler_options& options)
    : timers_(clock), policy_(std::move(rules)), options_(options), queues_(options.cpus) {
  if (options_.warmth.any()) warmths_.assign(options_.cpus, warmth(options_.warmth));
  const auto ms_per_tick =
      std::max<std::int64_t>(1, options_.tick.ps() / engine::milliseconds(1).ps());
  if (options_.balance_interval == 0)
    options_.balance_interval =
        std::max<std::uint32_t>(1, options_.cpus / static_cast<std::uint32_t>(ms_per_tick));
  period_timer_ = timers_.add([this](sim_time t) { period(t); });  // before ticks of one instant
  for (std::uint32_t i = 0; i < options_.cpus; ++i) {
    queues_[i].tick = timers_.add([this, i](sim_time t) { tick(cpu_index{i}, t); });
    queues_[i].choose_again = timers_.add([this, i](sim_time t) {
      if (queues_[i].current != nullptr && queues_[i].queued != 0) reschedule(cpu_index{i}, t);
    });
    if (options_.always_tick) timers_.arm(queues_[i].tick, sim_time{} + options_.tick);
  }
  balance_timer_ = timers_.add([this](sim_time t) { balance_tick(t); });
}

bool scheduler::idle(cpu_index c) const {
  const run_queue& q = queues_[c.value()];
  return q.current == nullptr && q.queued == 0 && !(is_preempted && is_preempted(c));
}

sim_time scheduler::clock(cpu_index c, sim_time t) const {
  return stolen ? t - stolen(c, t) : t;
}

void scheduler::charge(cpu_index c, sim_time t) {
  run_queue& q = queue(c);
  const sim_time now = clock(c, t);
  if (q.current != nullptr && now > q.charged) {
    q.current->policy.ran += now - q.charged;
    policy_->charge(c, *q.current, now - q.charged);
  }
  q.charged = now;
}

void scheduler::enqueue(cpu_index c, entity& e, enqueue_reason why) {
  run_queue& q = queue(c);
  e.policy.arrival = ++arrivals_;
  policy_->enqueue(c, e, why, q.current);
  e.cpu = c;
  e.queued = true;
  e.state = entity_state::runnable;
  ++q.queued;
  ++waiting_;
}

void scheduler::schedule(cpu_index c, sim_time t, off_cpu reason) {
  run_queue& q = queue(c);
  q.need_resched = false;
  charge(c, t);
  entity* const before = q.current;
  entity* const competes =
      before != nullptr && before->state == entity_state::running ? before : nullptr;
  entity* next = policy_->pick(c, competes);
  if (next == nullptr) {
    q.current = nullptr;  // pull sees an idle CPU
    if (pull(c, t)) next = policy_->pick(c, nullptr);
  }
  if (next == before && next != nullptr) return;
  if (competes != nullptr) {
    q.current = nullptr;
    enqueue(c, *before, enqueue_reason::preempted);
  }
  if (next != nullptr) {
    next->queued = false;
    next->state = entity_state::running;
    next->policy.ran_when_picked = next->policy.ran;
    --q.queued;
    --waiting_;
  }
  if (before == nullptr && next != nullptr && !warmths_.empty())
    warmths_[c.value()].rested(t - q.idle_since);
  if (before != nullptr && next == nullptr) q.idle_since = t;
  q.current = next;
  q.charged = clock(c, t);
  if (q.queued != 0) need_tick(c, t);
  if (before != nullptr) {
    require_progress(*before, competes != nullptr, t);
    before->last_ran = t;
    before->stop(t, competes != nullptr ? reason : off_cpu::blocked);
  }
  if (next != nullptr) {
    ++switches_;
    next->start(t, t + options_.switch_cost);
  } else if (on_idle) {
    on_idle(c, t);
  }
}

void scheduler::require_progress(const entity& gone, bool preempted, sim_time t) {
  const duration ran = gone.policy.ran - gone.policy.ran_when_picked;
  if (!preempted || ran >= options_.switch_cost) {
    futile_ = 0;
    return;
  }
  if (++futile_ < most_futile) return;
  const auto seconds = [](duration d) { return static_cast<double>(d.ps()) / 1e12; };
  throw livelock(fmt::format(
      "livelock at {:.3f} s: {} times in a row somebody lost a CPU during a context switch, which "
      "takes {} s (switch_cost), and nobody executes anything; expected less than a tick of {} s",
      seconds(t - sim_time{}), futile_, seconds(options_.switch_cost), seconds(options_.tick)));
}

void scheduler::reschedule(cpu_index c, sim_time t) {
  run_queue& q = queue(c);
  if (!q.powered || (q.current != nullptr && !q.current->preemptible())) {
    q.need_resched = true;
    return;
  }
  schedule(c, t, off_cpu::preempted);
}

void scheduler::arrive(cpu_index c, entity& e, enqueue_reason why, sim_time t) {
  run_queue& q = queue(c);
  charge(c, t);
  q.load += e.weight;
  enqueue(c, e, why);
  if (policy_->period() != duration{} && !timers_.armed(period_timer_))
    timers_.arm(period_timer_, next_multiple(t, policy_->period()));
  if (why != enqueue_reason::migrated) e.ready(t);
  if (q.current == nullptr) {
    if (q.powered) {
      schedule(c, t, off_cpu::preempted);
    } else if (on_kick) {
      on_kick(c, t);
    }
    return;
  }
  need_tick(c, t);
  if (q.powered && q.current->gives_way(t)) {
    block(*q.current, t);
  } else if (policy_->wakeup_preempts(c, *q.current, e)) {
    reschedule(c, t);
  } else if (const duration d = policy_->choose_again_in(c, *q.current); d != duration{}) {
    timers_.arm(q.choose_again, t + d);
  }
}

void scheduler::add(entity& e, cpu_index parent, sim_time t) {
  const cpu_index c = select_new_cpu(e, parent);
  e.cpu = c;
  arrive(c, e, enqueue_reason::created, t);
}

void scheduler::wake(entity& e, cpu_index waker, sim_time t) {
  if (e.state != entity_state::blocked) return;
  const cpu_index c = select_wake_cpu(e, waker);
  if (c != e.cpu) ++migrations_;
  arrive(c, e, enqueue_reason::woken, t);
}

void scheduler::block(entity& e, sim_time t) {
  const cpu_index c = e.cpu;
  charge(c, t);
  queue(c).load -= e.weight;
  e.state = entity_state::blocked;
  policy_->block(c, e);
  schedule(c, t, off_cpu::blocked);
}

void scheduler::yield(entity& e, sim_time t) {
  const cpu_index c = e.cpu;
  if (queue(c).queued == 0) return;
  charge(c, t);
  policy_->yield(c, e);
  schedule(c, t, off_cpu::yielded);
}

yield_end scheduler::yield_to(entity& from, entity& to, sim_time t) {
  const cpu_index here = from.cpu;
  const cpu_index there = to.cpu;
  if (runnable(here) == 1 && runnable(there) == 1) return yield_end::alone;
  if (!to.queued) return yield_end::refused;
  policy_->favour(there, to);
  if (queue(here).queued != 0) policy_->yield(here, from);
  if (there != here) reschedule(there, t);
  if (from.state == entity_state::running) schedule(here, t, off_cpu::yielded);
  return yield_end::yielded;
}

void scheduler::set_power(cpu_index c, bool on, sim_time t) {
  run_queue& q = queue(c);
  q.powered = on;
  if (!on) return;
  if (q.current == nullptr) {
    schedule(c, t, off_cpu::preempted);
    return;
  }
  if (q.tick_missed) {
    q.tick_missed = false;
    tick(c, t);
  }
  if (q.need_resched) reschedule(c, t);
}

void scheduler::need_tick(cpu_index c, sim_time t) {
  const timer_id timer = queue(c).tick;
  if (!timers_.armed(timer) && !queue(c).tick_missed)
    timers_.arm(timer, next_multiple(t, options_.tick));
  if (options_.balance && options_.cpus > 1 && !timers_.armed(balance_timer_))
    timers_.arm(balance_timer_, next_multiple(t, options_.tick));
}

void scheduler::tick(cpu_index c, sim_time t) {
  run_queue& q = queue(c);
  if (!q.powered) {
    q.tick_missed = true;
    return;
  }
  if (q.queued != 0 || options_.always_tick) timers_.arm(q.tick, next_multiple(t, options_.tick));
  if (q.current == nullptr) return;
  charge(c, t);
  if (q.queued != 0 && policy_->tick_preempts(c, *q.current)) reschedule(c, t);
}

void scheduler::period(sim_time t) {
  for (std::uint32_t i = 0; i < options_.cpus; ++i) charge(cpu_index{i}, t);
  if (policy_->periodic(t)) timers_.arm(period_timer_, next_multiple(t, policy_->period()));
}

cpu_index scheduler::select_wake_cpu(const entity& e, cpu_index waker) const {
  cpu_index target = e.cpu;
  if (!idle(target) && waker != target && e.allowed.contains(waker)) {
    const std::uint64_t here = queues_[waker.value()].load + e.weight;
    if (idle(waker) || here < queues_[target.value()].load) target = waker;
  }
  if (idle(target)) return target;
  for (std::uint32_t i = 1; i < options_.cpus; ++i) {
    const cpu_index c{(target.value() + i) % options_.cpus};
    if (e.allowed.contains(c) && idle(c)) return c;
  }
  return target;
}

cpu_index scheduler::select_new_cpu(const entity& e, cpu_index parent) const {
  cpu_index best = parent;
  bool found = false;
  for (std::uint32_t i = 0; i < options_.cpus; ++i) {
    const cpu_index c{(parent.value() + i) % options_.cpus};
    if (!e.allowed.contains(c)) continue;
    if (found && queues_[c.value()].load >= queues_[best.value()].load) continue;
    best = c;
    found = true;
  }
  return best;
}

}  // namespace hvsim::sched
