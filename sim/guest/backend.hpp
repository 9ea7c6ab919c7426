// SPDX-License-Identifier: Apache-2.0
// What a hypervisor does for, and to, a guest that waits: costs and habits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/engine/units.hpp"

namespace hvsim::guest {

/// What makes a spinning vCPU leave the guest.
enum class spin_exit : std::uint8_t {
  none,        ///< nothing
  pause_loop,  ///< x86 PLE: after a window of CPU time in one loop, which doubles each time
  wfe          ///< arm64 WFE, when the vCPU was loaded on a CPU with other work
};

/// Costs are CPU time of the vCPU unless they say otherwise.
struct backend {
  std::string_view name;
  engine::duration spin_iteration = engine::nanoseconds(20);  ///< one look at a cached word
  engine::duration exit = engine::nanoseconds(1'200);         ///< leaving the guest and coming back
  engine::duration kick = engine::nanoseconds(1'500);         ///< pv_kick: exit with its work
  engine::duration ipi = engine::nanoseconds(1'500);          ///< sending a reschedule interrupt
  engine::duration halt = engine::nanoseconds(2'000);         ///< from the halt to asleep
  engine::duration wake =
      engine::nanoseconds(4'000);  ///< from the wake-up of a sleeper to its entry
  engine::duration poll_wake = engine::nanoseconds(1'000);  ///< the same for one that polls
  engine::duration halt_poll_max;                           ///< longest halt polling; 0: none
  engine::duration halt_poll_start = engine::microseconds(10);
  spin_exit spin = spin_exit::none;
  engine::duration spin_window = engine::microseconds(2);  ///< PLE window; TWED delay for wfe
  bool spin_window_grows = false;                          ///< doubles per exit until scheduled in
  bool directed_yield = false;      ///< a spin exit boosts a preempted vCPU (kvm_vcpu_on_spin)
  bool kick_yields = false;         ///< a kick offers the CPU to its target
  bool kick_is_kept = false;        ///< a kick that finds nobody asleep ends the next halt
  bool interrupt_ends_wait = true;  ///< a pending interrupt ends pv_wait although masked
  bool steal_clock = false;         ///< the guest knows stolen time
  bool tells_preempted = false;     ///< vcpu_is_preempted says what is the case
};

/// Linux 6.1 KVM on arm64: 500 us of halt polling, WFE traps, PV-time steal clock.
backend kvm_arm64();
/// Linux 6.1 KVM on x86: 200 us of halt polling, PLE 4096 cycles, directed yield.
backend kvm_x86();
/// Microsoft Hyper-V on x86 as Linux 4.19 saw it: idle by MSR GUEST_IDLE, kick by IPI.
backend hyper_v();

std::vector<std::string> backend_names();
/// Throws std::invalid_argument for an unknown name.
backend find_backend(const std::string& name);

}  // namespace hvsim::guest
