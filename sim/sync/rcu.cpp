// SPDX-License-Identifier: Apache-2.0
#include "sim/sync/rcu.hpp"

#include <utility>

namespace hvsim::sync {

rcu::rcu(engine::engine& e, machine::machine& m, engine::core_id softirq_core) : machine_(m) {
  cpu_.core = softirq_core;
  e.spawn(
      "rcu", engine::sim_time{}, [this](engine::thread& t) { softirq(t); }, true);
}

bool rcu::older_reader(std::uint64_t sequence) const {
  for (const section& s : readers_)
    if (s.nesting != 0 && s.since <= sequence) return true;
  return false;
}

void rcu::wake_softirq(machine::cpu& c) {
  waiting_for_readers_ = false;
  if (engine::engine::parked(*cpu_.thread)) c.thread->owner().wake(*cpu_.thread, c.thread->now());
}

void rcu::softirq(engine::thread& t) {
  cpu_.thread = &t;
  for (;;) {
    if (queue_.empty()) {
      if (t.owner().sharing() != nullptr) {  // who wakes sleepers is on time
        t.sync();
        if (!queue_.empty()) continue;
      }
      for (machine::cpu* waiter : std::exchange(barriers_, {}))
        t.owner().wake(*waiter->thread, t.now());
      t.park(engine::part::idle, "an RCU callback to run");
      continue;
    }
    const std::uint64_t sequence = queue_.front().sequence;
    t.wait_until(engine::part::idle, queue_.front().queued + machine_.costs().rcu_grace.mean);
    while (older_reader(sequence)) {
      waiting_for_readers_ = true;
      t.park(engine::part::idle, "the end of an RCU read-side section");
    }
    while (!queue_.empty() && queue_.front().sequence <= sequence) {
      const pending next = std::move(queue_.front());
      queue_.pop_front();
      const engine::sim_time begun = t.now();
      callbacks_.waited(begun - next.queued);
      next.work(cpu_);
      callbacks_.held(t.now() - begun);
    }
  }
}

void rcu::call(machine::cpu& c, callback work) {
  c.thread->sync();
  callbacks_.acquired();
  queue_.push_back({c.thread->now(), sequence_, std::move(work)});
  if (cpu_.thread != nullptr && !waiting_for_readers_ && engine::engine::parked(*cpu_.thread))
    c.thread->owner().wake(*cpu_.thread, c.thread->now());
}

void rcu::barrier(machine::cpu& c, engine::part p) {
  c.thread->sync();
  if (queue_.empty()) return;
  barriers_.push_back(&c);
  if (engine::cpu_sharing* const cpus = c.thread->owner().sharing()) cpus->sleep(*c.thread);
  const engine::sim_time since = c.thread->now();
  c.thread->park(p, "rcu_barrier");
  sections_.waited(c.thread->now() - since);
}

}  // namespace hvsim::sync
