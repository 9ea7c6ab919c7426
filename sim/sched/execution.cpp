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
  end_ = running_ ? std::min(end_of_work(), end_of_time) : end_of_time;
  waiting_ = true;
  fiber_->wait_until(engine::part::idle, end_);
  waiting_ = false;
  if (fiber_->now() >= end_of_time)
    throw engine::deadlock_error("deadlock: " + fiber_->name() + " waits and nobody runs");
  stretch_over(fiber_->now());
}

sim_time execution::end_of_work() const {
  return from_ + (cpu_ == nullptr || spinning_ ? remaining_ : cpu_->time_for(remaining_));
}

void execution::stretch_over(sim_time t) {
  const duration time = t - from_;
  spent_ += time;
  if (cpu_ == nullptr) {
    remaining_ -= time;
    return;
  }
  const duration done = cpu_->work_in(time);
  if (!spinning_) book_slowness(done, time - done);
  remaining_ -= spinning_ ? time : done;
  cpu_->ran(time);
}

void execution::book_slowness(duration done, duration longer) {
  // The cold part comes first; each piece gets its share of what that takes longer.
  const duration cold = cpu_->cold_part(done);
  account last = piece_ < pieces_.size() ? pieces_[piece_].a : account::kernel;
  duration slow;
  duration booked;
  while (done != duration{} && piece_ < pieces_.size()) {
    piece& p = pieces_[piece_];
    const duration now = std::min(done, p.work);
    const duration cold_now = std::min(now, cold - slow);
    if (cold_now != duration{}) {
      slow += cold_now;
      last = p.a;
      const duration until{static_cast<std::int64_t>(static_cast<engine::wide>(longer.ps()) *
                                                     static_cast<engine::wide>(slow.ps()) /
                                                     static_cast<engine::wide>(cold.ps()))};
      accounts_.book(last, until - booked);
      booked = until;
    }
    done -= now;
    p.work -= now;
    if (p.work == duration{}) ++piece_;
  }
  accounts_.book(last, longer - booked);  // a picosecond in which no work was finished
}

void execution::settle() {
  wait(std::exchange(pending_, duration{}));
  user_ = duration{};
  pieces_.clear();
  piece_ = 0;
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

void execution::on(sim_time t, sim_time from, warmth* cpu) {
  accounts_.book(off_why_, t - off_since_);
  accounts_.book(account::switching, from - t);
  running_ = true;
  from_ = from;
  cpu_ = cpu;
  if (waiting_) move_end(end_of_work());
}

void execution::off(sim_time t, account why) {
  if (t < from_) {  // still in the switch
    accounts_.book(account::switching, t - from_);
  } else if (waiting_) {
    stretch_over(t);
  }
  if (waiting_) move_end(end_of_time);
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
  if (end >= end_) return;
  remaining_ = end - from_;
  move_end(end);
}

void execution::interrupt(account a, duration d) {
  accounts_.book(a, d);
  note(a, d);
  if (!waiting_) {
    pending_ += d;
    return;
  }
  interrupted_ += d;
  remaining_ += d;
  if (running_) move_end(end_of_work());
}

duration execution::time_off(account why, sim_time t) const {
  duration d = accounts_.in(why);
  if (!running_ && off_why_ == why && t > off_since_) d += t - off_since_;
  return d;
}

}  // namespace hvsim::sched
