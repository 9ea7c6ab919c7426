// SPDX-License-Identifier: Apache-2.0
// Which sleeping waiter belongs to which lock: the hash table of paravirtual queued spinlocks.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/guest/locks/queue_nodes.hpp"

namespace hvsim::guest::locks {

/// Linear probing, one entry a lock with a sleeping head. Four entries share a cache line. At least
/// four entries a CPU and 256 in all, so it cannot be full.
class pv_hash {
 public:
  explicit pv_hash(std::uint32_t cpus) {
    std::size_t n = 256;
    while (n < std::size_t{cpus} * 4) n *= 2;
    lines_.resize(n / per_line);
    entries_.resize(n);
    heads_.resize(n);
    for (std::size_t i = 0; i < n; ++i) entries_[i].line = &lines_[i / per_line];
  }

  /// `lock` numbers the lock, from 1.
  template <lock_port P>
  void insert(P& p, std::uint32_t lock, queue_node& head) {
    for (std::size_t i = home(lock);; i = (i + 1) % entries_.size()) {
      p.count(lock_event::pv_hash_hops);
      if (p.compare_exchange(entries_[i], 0, lock, ~0U) != 0) continue;
      heads_[i] = &head;
      return;
    }
  }

  /// Takes the entry out; it is there.
  template <lock_port P>
  queue_node& remove(P& p, std::uint32_t lock) {
    for (std::size_t i = home(lock);; i = (i + 1) % entries_.size()) {
      p.count(lock_event::pv_hash_hops);
      if (p.load(entries_[i]) != lock) continue;
      queue_node& head = *heads_[i];
      p.store(entries_[i], 0, ~0U);
      return head;
    }
  }

 private:
  static constexpr std::size_t per_line = 4;
  [[nodiscard]] std::size_t home(std::uint32_t lock) const {
    return static_cast<std::size_t>(lock * 0x61c88647U >> 8) % entries_.size();
  }
  std::vector<shared_line> lines_;
  std::vector<word> entries_;
  std::vector<queue_node*> heads_;
};

}  // namespace hvsim::guest::locks
