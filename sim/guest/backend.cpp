// SPDX-License-Identifier: Apache-2.0
#include "sim/guest/backend.hpp"

#include <stdexcept>

namespace hvsim::guest {

using engine::microseconds;
using engine::nanoseconds;

backend kvm_arm64() {
  backend b;
  b.name = "kvm-arm64";
  b.spin_iteration = nanoseconds(10);
  b.exit = nanoseconds(900);
  b.halt_poll_max = microseconds(500);
  b.spin = spin_exit::wfe;
  b.spin_window = engine::duration{};
  b.directed_yield = true;
  b.kick_yields = true;
  b.kick_is_kept = true;
  b.steal_clock = true;
  return b;
}

backend kvm_x86() {
  backend b;
  b.name = "kvm-x86";
  b.halt_poll_max = microseconds(200);
  b.spin = spin_exit::pause_loop;
  b.spin_window = nanoseconds(1'640);  // 4096 cycles at 2.5 GHz
  b.spin_window_grows = true;
  b.directed_yield = true;
  b.kick_yields = true;
  b.kick_is_kept = true;
  b.interrupt_ends_wait = false;
  b.tells_preempted = true;
  return b;
}

backend hyper_v() {
  backend b;
  b.name = "hyper-v";
  b.spin = spin_exit::none;
  return b;
}

std::vector<std::string> backend_names() {
  return {"kvm-arm64", "kvm-x86", "hyper-v"};
}

backend find_backend(const std::string& name) {
  for (const backend& b : {kvm_arm64(), kvm_x86(), hyper_v()})
    if (b.name == name) return b;
  throw std::invalid_argument("no hypervisor " + name);
}

}  // namespace hvsim::guest
