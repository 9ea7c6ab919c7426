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
  queue_.push_back({&c, exclusive});
  c.thread->park(wait_part_, what_);
  // The releaser has made this thread an owner and moved the word to it.
  last_start_ = c.thread->now();
}

void fair_lock::hand_over(machine::cpu& c) {
  // The head alone if it is a writer, otherwise every reader up to the next writer.
  engine::sim_time at = c.thread->now();
  engine::core_id from = word_.owner;
  do {
    const waiter next = queue_.front();
    if (next.exclusive && readers_ != 0) break;
    queue_.pop_front();
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
