// SPDX-License-Identifier: Apache-2.0
// A pipe of the guest's kernel: a bounded queue of messages with sleeping readers and writers.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "sim/guest/kernel.hpp"

namespace hvsim::guest {

/// Kernel time, besides the locks and the wake-ups.
struct pipe_costs {
  engine::duration call;  ///< entry, exit and bookkeeping of a read or write
  engine::duration copy;  ///< of one message, with the lock held
};

/// Messages are alike. Reader and writer of a message take the pipe's spinlock, and who finds
/// somebody asleep wakes the one that has slept longest while it holds the lock, as wait queues do.
class pipe {
 public:
  /// `capacity`: messages that fit, 1 or more. Makes a spinlock of that name.
  pipe(kernel& k, const std::string& name, std::uint32_t capacity, const pipe_costs& costs);

  /// Called from the task's fiber. Puts one message in; sleeps while it is full.
  void write(task& t);
  /// Takes one message out; sleeps while there is none.
  void read(task& t);

  [[nodiscard]] std::uint32_t messages() const { return messages_; }

 private:
  void sleep_in(std::deque<task*>& queue, task& t);
  void wake_first(std::deque<task*>& queue, task& t);

  kernel& kernel_;
  spinlock& lock_;
  std::uint32_t capacity_;
  pipe_costs costs_;
  std::uint32_t messages_ = 0;
  std::deque<task*> readers_;  // asleep, or about to be
  std::deque<task*> writers_;
};

}  // namespace hvsim::guest
