// SPDX-License-Identifier: Apache-2.0
#include "sim/guest/pipe.hpp"

#include <algorithm>

namespace hvsim::guest {

using sched::account;

pipe::pipe(kernel& k, const std::string& name, std::uint32_t capacity, const pipe_costs& costs)
    : kernel_(k), lock_(k.make_lock(name)), capacity_(capacity), costs_(costs) {}

void pipe::write(task& t) {
  t.exec.run(account::kernel, costs_.call);
  lock_.lock(t);
  while (messages_ == capacity_) sleep_in(writers_, t);
  t.exec.run(account::kernel, costs_.copy);
  t.exec.settle();
  ++messages_;
  wake_first(readers_, t);
  lock_.unlock(t);
}

void pipe::read(task& t) {
  t.exec.run(account::kernel, costs_.call);
  lock_.lock(t);
  while (messages_ == 0) sleep_in(readers_, t);
  t.exec.run(account::kernel, costs_.copy);
  t.exec.settle();
  --messages_;
  wake_first(writers_, t);
  lock_.unlock(t);
}

void pipe::sleep_in(std::deque<task*>& queue, task& t) {
  queue.push_back(&t);
  lock_.unlock(t);
  t.exec.settle();
  // Who wakes it takes it out first, so that no wake-up is lost before it sleeps.
  while (std::find(queue.begin(), queue.end(), &t) != queue.end()) kernel_.sleep(t);
  lock_.lock(t);
}

void pipe::wake_first(std::deque<task*>& queue, task& t) {
  if (queue.empty()) return;
  task* const first = queue.front();
  queue.pop_front();
  kernel_.wake(t, *first);
}

}  // namespace hvsim::guest
