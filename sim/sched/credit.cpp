// SPDX-License-Identifier: Apache-2.0
#include "sim/sched/credit.hpp"

#include <algorithm>

#include "sim/engine/wide.hpp"

namespace hvsim::sched {

using engine::duration;

credit::credit(std::uint32_t cpus, const credit_options& options)
    : options_(options), queues_(cpus) {}

void credit::charge(cpu_index, entity& current, duration d) {
  current.policy.credit -= d;
}

void credit::enqueue(cpu_index c, entity& e, enqueue_reason why, const entity*) {
  policy_state& s = e.policy;
  if (why == enqueue_reason::created) s.priority = under;
  if (why == enqueue_reason::woken && s.priority == under) s.priority = boost;
  queues_[c.value()].waiting.insert(e);
}

void credit::dequeue(cpu_index c, entity& e) {
  queue& q = queues_[c.value()];
  q.waiting.erase(q.waiting.iterator_to(e));
}

void credit::block(cpu_index c, entity&) {
  queues_[c.value()].current = nullptr;
}

entity* credit::pick(cpu_index c, entity* current) {
  queue& q = queues_[c.value()];
  entity* chosen = q.waiting.empty() ? nullptr : &*q.waiting.begin();
  if (current != nullptr) {
    // It goes behind its equals, unless it has hardly begun.
    const bool stays = chosen == nullptr || chosen->policy.priority < current->policy.priority ||
                       ran(*current) < options_.ratelimit;
    if (chosen == nullptr || (stays && !q.yields)) chosen = current;
  }
  q.yields = false;
  if (chosen != nullptr && chosen != current) q.waiting.erase(q.waiting.iterator_to(*chosen));
  q.current = chosen;
  return chosen;
}

bool credit::tick_preempts(cpu_index, entity& current) {
  return ran(current) >= options_.slice;
}

bool credit::wakeup_preempts(cpu_index, entity& current, entity& woken) {
  return woken.policy.priority > current.policy.priority && ran(current) >= options_.ratelimit;
}

duration credit::choose_again_in(cpu_index c, const entity& current) {
  const queue& q = queues_[c.value()];
  if (q.waiting.empty() || q.waiting.begin()->policy.priority <= current.policy.priority) return {};
  return std::max(duration{}, options_.ratelimit - ran(current));
}

void credit::yield(cpu_index c, entity&) {
  queues_[c.value()].yields = true;
}

entity* credit::steal_candidate(cpu_index c, cpu_index to) {
  for (entity& e : queues_[c.value()].waiting)
    if (e.allowed.contains(to)) return &e;
  return nullptr;
}

bool credit::periodic(engine::sim_time t) {
  bool busy = false;
  for (queue& q : queues_) {
    busy = busy || q.current != nullptr || !q.waiting.empty();
    if (q.current == nullptr) continue;
    policy_state& s = q.current->policy;
    if (s.priority == boost) s.priority = under;
    if (s.accounted) continue;
    s.accounted = true;
    accounted_.push_back(q.current);
  }
  if (t.ps() % options_.slice.ps() == 0) account();
  return busy || !accounted_.empty();
}

void credit::account() {
  std::vector<std::vector<entity*>> queued(queues_.size());
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    for (entity& e : queues_[i].waiting) queued[i].push_back(&e);
    queues_[i].waiting.clear();
  }
  std::uint64_t weights = 0;
  for (const entity* e : accounted_) weights += e->weight;
  const auto given =
      static_cast<engine::wide>(options_.slice.ps()) * static_cast<engine::wide>(queues_.size());
  for (entity* e : accounted_) {
    policy_state& s = e->policy;
    const duration share{static_cast<std::int64_t>(given * e->weight / weights)};
    s.credit += std::min(share, options_.slice);
    s.priority = s.credit < duration{} ? over : under;
    s.credit = std::max(s.credit, duration{} - options_.slice);
    if (s.credit <= options_.slice) continue;
    s.credit = s.credit / 2;
    s.accounted = false;
  }
  std::erase_if(accounted_, [](const entity* e) { return !e->policy.accounted; });
  for (std::size_t i = 0; i < queues_.size(); ++i)
    for (entity* e : queued[i]) queues_[i].waiting.insert(*e);
}

}  // namespace hvsim::sched
