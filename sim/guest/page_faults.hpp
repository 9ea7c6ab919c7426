// SPDX-License-Identifier: Apache-2.0
// Anonymous page faults of a guest's tasks, as far as they take spinlocks that all CPUs share.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/guest/kernel.hpp"

namespace hvsim::guest {

/// A CPU puts pages on the list of used ones, and takes free ones from the zone, in batches; each
/// batch is one turn of a spinlock.
class page_faults {
 public:
  /// Pages of one batch for the LRU lists (PAGEVEC_SIZE of Linux 6.1).
  static constexpr std::uint32_t lru_batch = 15;
  /// Pages that a CPU's list takes from its zone (pcp->batch of a zone above 512 MiB).
  static constexpr std::uint32_t zone_batch = 63;

  /// `fault`: kernel time of one fault without its locks. `hold`: of one turn of a lock.
  page_faults(kernel& k, engine::duration fault, engine::duration hold);

  /// The task touches new pages.
  void touch(task& t, std::uint32_t pages);
  /// The task ends and gives them back, which takes it `work` besides the locks.
  void free(task& t, std::uint32_t pages, engine::duration work);

 private:
  struct cpu_lists {
    std::uint32_t lru = 0;
    std::uint32_t zone = 0;
  };
  void turns(task& t, std::uint32_t pages);

  spinlock& lru_;
  spinlock& zone_;
  engine::duration fault_;
  engine::duration hold_;
  std::vector<cpu_lists> cpus_;
};

}  // namespace hvsim::guest
