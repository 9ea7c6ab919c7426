// SPDX-License-Identifier: Apache-2.0
// The guest's one disk, as far as sync waits for it.
#pragma once

#include <vector>

#include "sim/guest/kernel.hpp"

namespace hvsim::guest {

/// A sync has its data written, then waits for a commit of the journal that has begun after that.
/// The disk works in rounds: it writes the data of all that wait for it, one after the other, and
/// commits once for all whose data was written before the round (jbd2's batching). Who comes while
/// a round goes on therefore waits for its end and for two more; who is alone waits for no round of
/// others.
class disk {
 public:
  /// `write` for the data of each sync, `flush` for a commit, whoever waits for it.
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
  std::vector<task*> to_write_;    ///< of the next round
  std::vector<task*> writing_;     ///< of this round
  std::vector<task*> to_commit_;   ///< of the next round
  std::vector<task*> committing_;  ///< of this round
};

}  // namespace hvsim::guest
