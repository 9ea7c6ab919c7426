// SPDX-License-Identifier: Apache-2.0
#include "sim/sync/srcu.hpp"

#include <algorithm>

namespace hvsim::sync {

bool srcu::older_reader(std::uint64_t sequence) const {
  return std::any_of(readers_.begin(), readers_.end(),
                     [&](const section& s) { return s.open && s.since < sequence; });
}

void srcu::section_ended(const machine::cpu& c) {
  const auto waits_on = [&](const waiter& w) {
    if (older_reader(w.sequence)) return true;
    c.thread->owner().wake(*w.who->thread, c.thread->now());
    return false;
  };
  waiters_.erase(std::stable_partition(waiters_.begin(), waiters_.end(), waits_on), waiters_.end());
}

void srcu::synchronize(machine::cpu& c, engine::part p) {
  engine::thread& t = *c.thread;
  t.sync();
  const std::uint64_t mine = ++sequence_;
  if (!older_reader(mine)) return;
  const engine::sim_time since = t.now();
  waiters_.push_back({&c, mine});
  if (engine::cpu_sharing* const cpus = t.owner().sharing()) cpus->sleep(t);
  t.park(p, "the readers of the memslots (SRCU)");
  stats_.waited(t.now() - since);
}

}  // namespace hvsim::sync
