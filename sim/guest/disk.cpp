// SPDX-License-Identifier: Apache-2.0
#include "sim/guest/disk.hpp"

#include <algorithm>

namespace hvsim::guest {

using engine::duration;
using engine::sim_time;

disk::disk(kernel& k, duration flush, duration write) : kernel_(k), flush_(flush), write_(write) {
  timer_ = kernel_.machine().clock.add([this](sim_time t) { finish(t); });
}

void disk::begin(sim_time t) {
  busy_ = true;
  writing_.swap(to_write_);
  committing_.swap(to_commit_);
  duration round = write_ * static_cast<std::int64_t>(writing_.size());
  if (!committing_.empty()) {
    ++commits_;
    round += flush_;
  }
  kernel_.machine().clock.arm(timer_, t + round);
}

void disk::finish(sim_time t) {
  // The disk's interrupt wakes them where they slept.
  for (task* waiter : std::exchange(committing_, {}))
    kernel_.machine().guest.wake(*waiter, waiter->cpu, t);
  for (task* written : std::exchange(writing_, {})) to_commit_.push_back(written);
  busy_ = false;
  if (!to_write_.empty() || !to_commit_.empty()) begin(t);
}

void disk::sync(task& t) {
  t.exec.settle();
  to_write_.push_back(&t);
  if (!busy_) begin(t.exec.fiber().now());
  const auto waits = [&](const std::vector<task*>& v) {
    return std::find(v.begin(), v.end(), &t) != v.end();
  };
  while (waits(to_write_) || waits(writing_) || waits(to_commit_) || waits(committing_))
    kernel_.sleep(t);
}

}  // namespace hvsim::guest
