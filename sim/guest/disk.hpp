// SPDX-License-Identifier: Apache-2.0
// The guest's one disk, as far as sync waits for it.
#pragma once

#include <vector>

#include "sim/guest/kernel.hpp"

namespace hvsim::guest {

/// One transaction is committed at a time; who calls sync meanwhile waits for the next one, which
/// carries all that wait (jbd2's batching). Writing takes its time for each of them, the flush of
/// the device's cache once.
class disk {
 public:
  /// `flush` once a commit, `write` for each sync in it.
  disk(kernel& k, engine::duration flush, engine::duration write);

  /// Returns when everything that was written before the call is on the disk.
  void sync(task& t);
  [[nodiscard]] std::uint64_t commits() const { return commits_; }

 private:
  void begin(engine::sim_time t);
  void finish(engine::sim_time t);

  kernel& kernel_;
  engine::duration flush_;
  engine::duration write_;
  sched::timer_id timer_{};
  bool busy_ = false;
  std::uint64_t commits_ = 0;
  std::vector<task*> in_commit_;
  std::vector<task*> next_;
};

}  // namespace hvsim::guest
