// SPDX-License-Identifier: Apache-2.0
// What a hypervisor does for, and to, a guest that waits: costs and habits, each with its source.
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

/// Costs are CPU time of the vCPU unless they say otherwise. The defaults cost and do nothing.
struct backend {
  std::string_view name;
  spin_exit spin = spin_exit::none;
  /// Looks at a word in which only the pending bit is set: _Q_PENDING_LOOPS, 512 on x86 and
  /// powerpc, 1 elsewhere.
  std::uint32_t pending_loops = 1;
  engine::duration cycle = engine::duration{333};  ///< of the clock that TWED counts
  engine::duration spin_iteration;                 ///< one look at a cached word
  engine::duration exit;             ///< leaving the guest for a spin loop and coming back
  engine::duration kick;             ///< pv_kick: exit with its work
  engine::duration ipi;              ///< sending a reschedule interrupt
  engine::duration halt;             ///< from the halt to asleep
  engine::duration wake;             ///< from the wake-up of a sleeper to its entry
  engine::duration poll_wake;        ///< the same for one that polls
  engine::duration halt_poll_max;    ///< longest halt polling; 0: none
  engine::duration halt_poll_start;  ///< halt polling after the first short halt
  engine::duration spin_window;      ///< PLE window; TWED delay for wfe
  engine::duration event_stream;     ///< period of the timer's events, which end a WFE; 0: none
  bool spin_window_grows = false;    ///< doubles per exit until scheduled in
  bool directed_yield = false;       ///< a spin exit boosts a preempted vCPU (kvm_vcpu_on_spin)
  bool yields_to_kernel = false;     ///< and passes over those that were preempted in user mode
  bool yields_to_woken = false;      ///< and also boosts one that was woken and waits for its CPU
  bool kick_yields = false;          ///< a kick offers the CPU to its target
  bool kick_is_kept = false;         ///< a kick that finds nobody asleep ends the next halt
  bool interrupt_ends_wait = false;  ///< a pending interrupt ends pv_wait although masked
  bool open_interrupt_ends_wait = false;  ///< it does if the waiter had interrupts on
  bool steal_clock = false;               ///< the guest knows stolen time
  bool tells_preempted = false;           ///< vcpu_is_preempted says what is the case
};

/// How a value of a back end is known.
enum class evidence : std::uint8_t {
  published,  ///< in source code, a manual or a measurement that the source names
  estimated,  ///< by the authors of hvsim, from what the source names
  fitted      ///< to the table that the source names
};
std::string_view to_string(evidence e);

/// One cost of a back end.
struct backend_cost {
  std::string_view name;
  engine::duration backend::*field;
  engine::duration value;
  evidence kind;
  std::string_view source;
};

/// One habit of a back end; a habit that is not listed is absent.
struct backend_habit {
  std::string_view name;
  bool backend::*field;
  evidence kind;
  std::string_view source;
};

/// A back end as a table, from which `find_backend` makes it.
struct backend_table {
  std::string_view name;
  std::string_view help;
  spin_exit spin;
  std::uint32_t pending_loops;
  std::vector<backend_cost> costs;
  std::vector<backend_habit> habits;
};

/// Every back end that a scenario can name.
const std::vector<backend_table>& backend_tables();

std::vector<std::string> backend_names();
/// Throws std::invalid_argument for an unknown name.
backend find_backend(const std::string& name);

/// Delay of a WFE trap for a value of TWEDEL, 0 to 15: 2^(TWEDEL + 8) cycles.
constexpr engine::duration twed_delay(const backend& b, std::uint32_t twedel) {
  return b.cycle * (std::int64_t{1} << (twedel + 8));
}

}  // namespace hvsim::guest
