// SPDX-License-Identifier: Apache-2.0
#include "sim/guest/disk.hpp"

#include <algorithm>

namespace hvsim::guest {

using engine::sim_time;

disk::disk(kernel& k, engine::duration flush, engine::duration write)
    : kernel_(k), flush_(flush), write_(write) {
  timer_ = kernel_.machine().clock.add([this](sim_time t) { finish(t); });
}

void disk::begin(sim_time t) {
  busy_ = true;
  ++commits_;
  in_commit_.swap(next_);
  const auto syncs = static_cast<std::int64_t>(in_commit_.size());
  kernel_.machine().clock.arm(timer_, t + flush_ + write_ * syncs);
}

void disk::finish(sim_time t) {
  // The disk's interrupt wakes them where they slept.
  for (task* waiter : std::exchange(in_commit_, {}))
    kernel_.machine().guest.wake(*waiter, waiter->cpu, t);
  busy_ = false;
  if (!next_.empty()) begin(t);
}

void disk::sync(task& t) {
  t.exec.settle();
  next_.push_back(&t);
  if (!busy_) begin(t.exec.fiber().now());
  const auto waits = [&](const std::vector<task*>& v) {
    return std::find(v.begin(), v.end(), &t) != v.end();
  };
  while (waits(next_) || waits(in_commit_)) kernel_.sleep(t);
}

}  // namespace hvsim::guest
