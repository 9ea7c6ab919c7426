// SPDX-License-Identifier: Apache-2.0
// Where the life of a scheduled thread goes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/engine/units.hpp"

namespace hvsim::sched {

/// Every picosecond between a thread's start and its end is in exactly one account.
enum class account : std::uint8_t {
  user,       ///< the program itself
  kernel,     ///< system calls, faults and interrupts, outside of what follows
  lock_line,  ///< moving a lock's cache lines
  spin,       ///< looking at a lock that somebody else has
  exit,       ///< leaving the guest and coming back
  hypercall,  ///< the host working for the guest during an exit
  switching,  ///< context switches to this thread
  run_queue,  ///< could run, the scheduler had chosen another
  steal,      ///< chosen in the guest, but the host ran something else
  halted,     ///< the vCPU slept in the wait of a paravirtual lock
  blocked,    ///< waited for an event
  count
};

inline constexpr std::size_t account_count = static_cast<std::size_t>(account::count);

constexpr std::string_view to_string(account a) {
  constexpr std::array<std::string_view, account_count> names{
      "user",      "kernel",    "lock_line", "spin",   "exit",   "hypercall",
      "switching", "run_queue", "steal",     "halted", "blocked"};
  return names[static_cast<std::size_t>(a)];
}

/// Times by account.
class ledger {
 public:
  void book(account a, engine::duration d) { times_[static_cast<std::size_t>(a)] += d; }
  [[nodiscard]] engine::duration in(account a) const { return times_[static_cast<std::size_t>(a)]; }
  [[nodiscard]] engine::duration total() const {
    engine::duration sum;
    for (const engine::duration d : times_) sum += d;
    return sum;
  }
  void add(const ledger& other) {
    for (std::size_t i = 0; i < account_count; ++i) times_[i] += other.times_[i];
  }

 private:
  std::array<engine::duration, account_count> times_{};
};

}  // namespace hvsim::sched
