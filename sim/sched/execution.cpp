// SPDX-License-Identifier: Apache-2.0
#include "sim/sched/execution.hpp"

#include <algorithm>

namespace hvsim::sched {

using engine::duration;
using engine::sim_time;

void execution::attach(engine::thread& fiber) {
  fiber_ = &fiber;
  off_since_ = fiber.now();
  from_ = fiber.now();
}

void execution::wait(duration work) {
  const sim_time begin = fiber_->now();
  remaining_ = work;
  work_ = work;
  spent_ = duration{};
  interrupted_ = duration{};
  from_ = std::max(from_, begin);
  end_ = running_ ? std::min(from_ + work, end_of_time) : end_of_time;
  waiting_ = true;
  fiber_->wait_until(engine::part::idle, end_);
  waiting_ = false;
  if (fiber_->now() >= end_of_time)
    throw engine::deadlock_error("deadlock: " + fiber_->name() + " waits and nobody runs");
  spent_ += fiber_->now() - from_;
}

void execution::settle() {
  wait(std::exchange(pending_, duration{}));
  user_ = duration{};
  from_ = fiber_->now();
}

duration execution::spin(account a, duration limit) {
  settle();
  spinning_ = true;
  wait(limit);
  spinning_ = false;
  from_ = fiber_->now();
  accounts_.book(a, spent_ - interrupted_);
  return spent_ - interrupted_;
}

void execution::move_end(sim_time end) {
  end_ = std::min(end, end_of_time);
  fiber_->owner().move_wait(*fiber_, end_);
}

void execution::on(sim_time t, sim_time from) {
  accounts_.book(off_why_, t - off_since_);
  accounts_.book(account::switching, from - t);
  running_ = true;
  from_ = from;
  if (waiting_) move_end(from + remaining_);
}

void execution::off(sim_time t, account why) {
  if (t < from_) {  // still in the switch
    accounts_.book(account::switching, t - from_);
  } else if (waiting_) {
    spent_ += t - from_;
  }
  if (waiting_) {
    remaining_ = end_ - std::max(t, from_);
    move_end(end_of_time);
  }
  from_ = t;
  running_ = false;
  off_since_ = t;
  off_why_ = why;
}

void execution::off_because(sim_time t, account why) {
  accounts_.book(off_why_, t - off_since_);
  off_since_ = t;
  off_why_ = why;
}

void execution::poke(sim_time t, duration look) {
  if (!spinning_ || !waiting_) return;
  if (!running_) {
    remaining_ = std::min(remaining_, look);
    return;
  }
  const sim_time end = std::max(t, from_) + look;
  if (end < end_) move_end(end);
}

void execution::interrupt(account a, duration d) {
  accounts_.book(a, d);
  if (!waiting_) {
    pending_ += d;
    return;
  }
  interrupted_ += d;
  if (running_) {
    move_end(end_ + d);
  } else {
    remaining_ += d;
  }
}

duration execution::time_off(account why, sim_time t) const {
  duration d = accounts_.in(why);
  if (!running_ && off_why_ == why && t > off_since_) d += t - off_since_;
  return d;
}

}  // namespace hvsim::sched
