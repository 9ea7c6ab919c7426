// SPDX-License-Identifier: Apache-2.0
#include "sim/sched/cfs.hpp"

#include <algorithm>

#include "sim/sched/virtual_time.hpp"

namespace hvsim::sched {

using engine::duration;

cfs::cfs(std::uint32_t cpus, const cfs_options& options) : options_(options), queues_(cpus) {
  const std::int64_t factor = tunable_factor(cpus);
  options_.latency = options.latency * factor;
  options_.min_granularity = options.min_granularity * factor;
  options_.wakeup_granularity = options.wakeup_granularity * factor;
}

void cfs::update_min(queue& q, const entity* current) {
  const entity* first = q.waiting.empty() ? nullptr : &*q.waiting.begin();
  if (current == nullptr && first == nullptr) return;
  std::int64_t v = current != nullptr ? current->policy.vruntime : first->policy.vruntime;
  if (first != nullptr) v = std::min(v, first->policy.vruntime);
  q.min_vruntime = std::max(q.min_vruntime, v);
}

void cfs::forget(queue& q, const entity& e) {
  if (q.next == &e) q.next = nullptr;
  if (q.last == &e) q.last = nullptr;
  if (q.skip == &e) q.skip = nullptr;
}

duration cfs::slice(const entity& e, std::uint64_t others, std::uint32_t running) const {
  const duration period = running > options_.nr_latency
                              ? options_.min_granularity * static_cast<std::int64_t>(running)
                              : options_.latency;
  const auto total = static_cast<std::int64_t>(others + e.weight);
  return std::max(options_.min_granularity, period * static_cast<std::int64_t>(e.weight) / total);
}

int cfs::lead(const entity& current, const entity& e) const {
  const std::int64_t d = current.policy.vruntime - e.policy.vruntime;
  if (d <= 0) return -1;
  return d > virtual_of(options_.wakeup_granularity, e.weight) ? 1 : 0;
}

void cfs::charge(cpu_index c, entity& current, duration d) {
  current.policy.vruntime += virtual_of(d, current.weight);
  update_min(queues_[c.value()], &current);
}

void cfs::enqueue(cpu_index c, entity& e, enqueue_reason why, const entity* current) {
  queue& q = queues_[c.value()];
  update_min(q, current);
  policy_state& s = e.policy;
  if (why != enqueue_reason::created && c != e.cpu)
    s.vruntime += q.min_vruntime - queues_[e.cpu.value()].min_vruntime;
  if (why == enqueue_reason::created) {
    const std::uint64_t others = q.load + (current != nullptr ? current->weight : 0);
    const auto running =
        static_cast<std::uint32_t>(q.waiting.size()) + (current != nullptr ? 2 : 1);
    s.vruntime = std::max(current != nullptr ? current->policy.vruntime : q.min_vruntime,
                          q.min_vruntime + virtual_of(slice(e, others, running), e.weight));
  } else if (why == enqueue_reason::woken) {
    // Without weights, as place_entity has it.
    s.vruntime =
        std::max(s.vruntime, q.min_vruntime - virtual_of(options_.latency / 2, default_weight));
  }
  q.waiting.insert(e);
  q.load += e.weight;
}

void cfs::dequeue(cpu_index c, entity& e) {
  queue& q = queues_[c.value()];
  q.waiting.erase(q.waiting.iterator_to(e));
  q.load -= e.weight;
  forget(q, e);
}

void cfs::block(cpu_index c, entity& e) {
  queue& q = queues_[c.value()];
  forget(q, e);
  update_min(q, nullptr);
}

entity* cfs::pick(cpu_index c, entity* current) {
  queue& q = queues_[c.value()];
  entity* const first = q.waiting.empty() ? nullptr : &*q.waiting.begin();
  entity* left = first;
  if (left == nullptr || (current != nullptr && current->policy.vruntime < left->policy.vruntime))
    left = current;
  if (left == nullptr) return nullptr;
  entity* chosen = left;
  if (q.skip == chosen) {
    entity* second = nullptr;
    if (chosen == current) {
      second = first;
    } else {
      const auto after = std::next(q.waiting.iterator_to(*chosen));
      second = after == q.waiting.end() ? nullptr : &*after;
      if (second == nullptr ||
          (current != nullptr && current->policy.vruntime < second->policy.vruntime))
        second = current;
    }
    if (second != nullptr && lead(*second, *left) < 1) chosen = second;
  }
  if (q.next != nullptr && lead(*q.next, *left) < 1) {
    chosen = q.next;
  } else if (q.last != nullptr && lead(*q.last, *left) < 1) {
    chosen = q.last;
  }
  forget(q, *chosen);
  if (chosen == current) return current;
  q.waiting.erase(q.waiting.iterator_to(*chosen));
  q.load -= chosen->weight;
  return chosen;
}

bool cfs::tick_preempts(cpu_index c, entity& current) {
  queue& q = queues_[c.value()];
  if (q.waiting.empty()) return false;
  const auto running = static_cast<std::uint32_t>(q.waiting.size()) + 1;
  const duration ideal = slice(current, q.load, running);
  const duration ran = current.policy.ran - current.policy.ran_when_picked;
  if (ran > ideal) {
    forget(q, current);
    return true;
  }
  if (ran < options_.min_granularity) return false;
  // The kernel compares a virtual lead with a real slice; they have one unit at the default weight.
  const std::int64_t ahead = current.policy.vruntime - q.waiting.begin()->policy.vruntime;
  return ahead > virtual_of(ideal, default_weight);
}

bool cfs::wakeup_preempts(cpu_index c, entity& current, entity& woken) {
  queue& q = queues_[c.value()];
  if (lead(current, woken) < 1) return false;
  // With NEXT_BUDDY off the one that preempts is the next buddy all the same.
  q.next = &woken;
  if (q.waiting.size() + 1 >= options_.nr_latency) q.last = &current;
  return true;
}

void cfs::yield(cpu_index c, entity& current) {
  queue& q = queues_[c.value()];
  forget(q, current);
  q.skip = &current;
}

void cfs::favour(cpu_index c, entity& target) {
  queues_[c.value()].next = &target;
}

entity* cfs::steal_candidate(cpu_index c, cpu_index to) {
  return coldest(queues_[c.value()].waiting, to);
}

}  // namespace hvsim::sched
