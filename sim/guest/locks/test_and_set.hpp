// SPDX-License-Identifier: Apache-2.0
// The unfair lock of x86 guests whose hypervisor offers no paravirtual one (virt_spin_lock).
#pragma once

#include "sim/guest/locks/lock_port.hpp"

namespace hvsim::guest::locks {

/// Test, then test and set. Whose compare-and-swap comes first has the lock: of spinners that see
/// the release, the one whose copy of the line arrives first.
class test_and_set {
 public:
  template <lock_port P>
  void lock(P& p) {
    while (p.compare_exchange(word_.w, 0, 1, ~0U) != 0)
      p.spin_until(word_.w, {~0U, 0, true}, no_limit);
  }
  template <lock_port P>
  void unlock(P& p) {
    p.store(word_.w, 0, ~0U);
  }

 private:
  lone_word word_;
};

}  // namespace hvsim::guest::locks
