// SPDX-License-Identifier: Apache-2.0
#include "sim/sched/eevdf.hpp"

#include <algorithm>

#include "sim/sched/virtual_time.hpp"

namespace hvsim::sched {

using engine::duration;

namespace {
__extension__ using signed_wide = __int128;

/// Sum of weight * (vruntime - from) over the queue, and of weights.
struct sums {
  signed_wide distance = 0;
  std::int64_t weight = 0;
  void add(const entity& e, std::int64_t from) {
    weight += e.weight;
    distance += static_cast<signed_wide>(e.policy.vruntime - from) * e.weight;
  }
};

template <class Queue>
sums of(const Queue& q, std::int64_t from) {
  sums s;
  for (const entity& e : q.waiting) s.add(e, from);
  if (q.current != nullptr) s.add(*q.current, from);
  return s;
}
}  // namespace

eevdf::eevdf(std::uint32_t cpus, const eevdf_options& options) : options_(options), queues_(cpus) {
  options_.base_slice = options.base_slice * tunable_factor(cpus);
}

std::int64_t eevdf::request(const entity& e) const {
  return virtual_of(options_.base_slice, e.weight);
}

std::int64_t eevdf::virtual_time(const queue& q) {
  const std::int64_t from = q.current != nullptr ? q.current->policy.vruntime
                            : q.waiting.empty()  ? q.empty_at
                                                 : q.waiting.begin()->policy.vruntime;
  const sums s = of(q, from);
  if (s.weight == 0) return q.empty_at;
  signed_wide mean = s.distance;
  if (mean < 0) mean -= s.weight - 1;  // rounds down
  return from + static_cast<std::int64_t>(mean / s.weight);
}

bool eevdf::eligible(const queue& q, const entity& e) {
  return of(q, e.policy.vruntime).distance >= 0;
}

entity* eevdf::best(queue& q, entity* current) {
  if (current != nullptr && !eligible(q, *current)) current = nullptr;
  if (current != nullptr && !q.request_used) return current;
  for (entity& e : q.waiting)
    if (eligible(q, e)) {
      const bool later = current != nullptr && current->policy.deadline < e.policy.deadline;
      return later ? current : &e;
    }
  return current;
}

std::int64_t eevdf::lag(const queue& q, const entity& e) const {
  const std::int64_t most = virtual_of(std::max(options_.base_slice * 2, options_.tick), e.weight);
  return std::clamp(virtual_time(q) - e.policy.vruntime, -most, most);
}

void eevdf::charge(cpu_index c, entity& current, duration d) {
  policy_state& s = current.policy;
  s.vruntime += virtual_of(d, current.weight);
  if (s.vruntime < s.deadline) return;
  s.deadline = s.vruntime + request(current);
  queues_[c.value()].request_used = true;
}

void eevdf::enqueue(cpu_index c, entity& e, enqueue_reason why, const entity*) {
  queue& q = queues_[c.value()];
  policy_state& s = e.policy;
  if (why != enqueue_reason::preempted) {
    // The entity's own weight moves the mean towards it, by as much as its lag is stretched here.
    const sums others = of(q, 0);
    if (why == enqueue_reason::created || others.weight == 0) s.lag = 0;
    if (s.lag != 0)
      s.lag = static_cast<std::int64_t>(static_cast<signed_wide>(s.lag) *
                                        (others.weight + e.weight) / others.weight);
    s.vruntime = virtual_time(q) - s.lag;
    s.deadline = s.vruntime + request(e) / (why == enqueue_reason::created ? 2 : 1);
  }
  q.waiting.insert(e);
}

void eevdf::dequeue(cpu_index c, entity& e) {
  queue& q = queues_[c.value()];
  e.policy.lag = lag(q, e);
  q.empty_at = virtual_time(q);
  q.waiting.erase(q.waiting.iterator_to(e));
}

void eevdf::block(cpu_index c, entity& e) {
  queue& q = queues_[c.value()];
  e.policy.lag = lag(q, e);
  q.empty_at = virtual_time(q);
  q.current = nullptr;
}

entity* eevdf::pick(cpu_index c, entity* current) {
  queue& q = queues_[c.value()];
  entity* const chosen = best(q, current);
  if (chosen != current && chosen != nullptr) q.waiting.erase(q.waiting.iterator_to(*chosen));
  q.current = chosen;
  q.request_used = false;
  return chosen;
}

bool eevdf::tick_preempts(cpu_index c, entity&) {
  return queues_[c.value()].request_used;
}

bool eevdf::wakeup_preempts(cpu_index c, entity& current, entity& woken) {
  queue& q = queues_[c.value()];
  return q.request_used || best(q, &current) == &woken;
}

void eevdf::yield(cpu_index c, entity& current) {
  current.policy.deadline += request(current);
  queues_[c.value()].request_used = true;
}

entity* eevdf::steal_candidate(cpu_index c, cpu_index to) {
  return coldest(queues_[c.value()].waiting, to);
}

}  // namespace hvsim::sched
