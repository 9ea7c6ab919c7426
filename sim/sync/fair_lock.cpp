// SPDX-License-Identifier: Apache-2.0
#include "sim/sync/fair_lock.hpp"

namespace hvsim::sync {

engine::duration fair_lock::hand_off_time(engine::core_id from, engine::core_id to,
                                          bool others_wait) const {
  const engine::duration step = machine_.transfer_time(from, to);
  return others_wait ? step * 3 : step * 2;
}

void fair_lock::take_by_value(machine::cpu& c) {
  engine::thread& t = *c.thread;
  // The previous taker's start lies ahead: it waited too, so there is a queue.
  const bool others_wait = last_start_ > t.now();
  t.advance_to(wait_part_, free_at_);
  t.advance(line_part_, hand_off_time(word_.owner, c.core, others_wait));
  last_start_ = t.now();
  word_.owner = c.core;
  word_.free_at = t.now();
}

void fair_lock::enqueue(machine::cpu& c, bool exclusive) {
  if (engine::cpu_sharing* const cpus = c.thread->owner().sharing()) [[unlikely]] {
    wait_sharing(*cpus, c, exclusive);
  } else {
    queue_.push_back({&c, exclusive, nullptr});
    c.thread->park(wait_part_, what_);
  }
  // The releaser has made this thread an owner and moved the word to it.
  last_start_ = c.thread->now();
}

void fair_lock::wait_sharing(engine::cpu_sharing& cpus, machine::cpu& c, bool exclusive) {
  engine::thread& t = *c.thread;
  // Time without a CPU of holders: until now, then (by `give`) since now.
  engine::duration behind = holders_.time_without_cpu(t.now());
  queue_.push_back({&c, exclusive, &behind});
  if (how_ == waiting::spins) {
    cpus.disable_preemption(t);
  } else {
    cpus.sleep(t);
  }
  t.park(wait_part_, what_);
  t.rebook(wait_part_, engine::part::lock_holder_preempted, behind);
}

void fair_lock::give(const waiter& next, engine::sim_time now) {
  engine::cpu_sharing* const cpus = next.who->thread->owner().sharing();
  if (cpus == nullptr) [[likely]]
    return;
  *next.behind = holders_.time_without_cpu(now) - *next.behind;
  (void)cpus->listen(*next.who->thread, holders_);
}

void fair_lock::tell_taken(machine::cpu& c, const lock_stats& stats, bool exclusive) {
  engine::thread& t = *c.thread;
  if (engine::cpu_sharing* const cpus = t.owner().sharing()) {
    // One that waited is a holder already, see `give`, and has preemption disabled.
    if (cpus->listen(t, holders_) && how_ == waiting::spins) cpus->disable_preemption(t);
  }
  if (engine::observer* const w = t.owner().watcher())
    w->lock_taken(t, this, stats.name().c_str(), exclusive);
}

void fair_lock::tell_dropped(machine::cpu& c, const lock_stats& stats, bool exclusive) {
  engine::thread& t = *c.thread;
  engine::cpu_sharing* const cpus = t.owner().sharing();
  if (cpus != nullptr) t.sync();
  if (engine::observer* const w = t.owner().watcher())
    w->lock_dropped(t, this, stats.name().c_str(), exclusive);
  if (cpus == nullptr) return;
  cpus->stop_listening(t, holders_);
  if (how_ == waiting::spins) cpus->enable_preemption(t);
}

void fair_lock::hand_over(machine::cpu& c) {
  // The head alone if it is a writer, otherwise every reader up to the next writer.
  engine::sim_time at = c.thread->now();
  engine::core_id from = word_.owner;
  do {
    const waiter next = queue_.front();
    if (next.exclusive && readers_ != 0) break;
    queue_.pop_front();
    give(next, c.thread->now());
    at += hand_off_time(from, next.who->core, !queue_.empty());
    from = next.who->core;
    word_.owner = next.who->core;
    word_.free_at = at;
    if (next.exclusive) {
      exclusive_ = true;
      c.thread->owner().wake_owner(*next.who->thread, at);
      break;
    }
    ++readers_;
    c.thread->owner().wake(*next.who->thread, at);
  } while (!queue_.empty() && !queue_.front().exclusive);
}

}  // namespace hvsim::sync
