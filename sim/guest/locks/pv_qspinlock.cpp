// SPDX-License-Identifier: Apache-2.0
#include "sim/guest/locks/pv_qspinlock.hpp"

namespace hvsim::guest::locks {

// Commits: 75d227028068, 1c4941fd53af, cd0272fab785, 75437bb304b2, 11752adb68a3, 89340d0935c9.
const std::vector<pv_preset>& pv_presets() {
  static const std::vector<pv_preset> presets{
      {"linux-4.2", {stealing::never, false, false, true}},
      {"linux-4.3", {stealing::never, false, false, false}},
      {"linux-4.5", {stealing::once, true, false, false}},
      {"linux-4.10", {stealing::once, true, true, false}},
      {"linux-4.15", {stealing::hybrid, true, true, false}},
      {"linux-5.4", {stealing::hybrid, true, false, false}},
  };
  return presets;
}

}  // namespace hvsim::guest::locks
