// SPDX-License-Identifier: Apache-2.0
// The ticket lock of Linux before 4.2: first come, first served.
#pragma once

#include "sim/guest/locks/lock_port.hpp"

namespace hvsim::guest::locks {

/// Low half: the ticket that is served. High half: the next ticket.
class ticket {
 public:
  template <lock_port P>
  void lock(P& p) {
    const std::uint32_t mine = p.fetch_add(word_.w, 1U << 16) >> 16;
    p.spin_until(word_.w, {0xffff, mine, true}, no_limit);
  }
  template <lock_port P>
  void unlock(P& p) {
    const std::uint32_t served = (p.load(word_.w) + 1) & 0xffff;
    p.store(word_.w, served, 0xffff);
  }

 private:
  lone_word word_;
};

}  // namespace hvsim::guest::locks
