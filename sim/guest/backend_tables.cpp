// SPDX-License-Identifier: Apache-2.0
// The back ends. Nobody has published what halts, wake-ups and kicks cost on the hosts of the
// comparisons; the estimates are round numbers of the order of what kvm-unit-tests measure.
#include <algorithm>

#include "sim/guest/backend.hpp"

namespace hvsim::guest {

namespace {

using engine::duration;
using engine::microseconds;
using engine::nanoseconds;
using enum evidence;

constexpr std::uint32_t x86_pending_loops = 512;
constexpr std::string_view plain_look = "a load that hits, a compare and a branch at 3 GHz";

std::vector<backend_cost> common_costs(duration look, std::string_view look_source, duration exit) {
  return {
      {"spin_iteration", &backend::spin_iteration, look, estimated, look_source},
      {"exit", &backend::exit, exit, estimated,
       "exit and entry, 0.3 us for HVC on Altra (kvmarm, 29 Oct 2024), and a scan of the vCPUs"},
      {"kick", &backend::kick, nanoseconds(1'500), estimated,
       "an exit, a request to the target and an interrupt of its host CPU"},
      {"ipi", &backend::ipi, nanoseconds(1'500), estimated,
       "an exit for the interrupt controller and an interrupt of the target's host CPU"},
      {"halt", &backend::halt, nanoseconds(2'000), estimated, "an exit and a context switch"},
      {"wake", &backend::wake, nanoseconds(4'000), estimated,
       "wake-up of a thread on an idle CPU, a context switch and an entry"},
      {"poll_wake", &backend::poll_wake, nanoseconds(1'000), estimated,
       "a look of the polling loop and an entry"},
  };
}

std::vector<backend_cost> with(std::vector<backend_cost> a, const std::vector<backend_cost>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

backend_cost halt_poll(duration most, std::string_view source) {
  return {"halt_poll_max", &backend::halt_poll_max, most, published, source};
}
const backend_cost poll_start{"halt_poll_start", &backend::halt_poll_start, microseconds(10),
                              published,
                              "halt_poll_ns_grow_start, virt/kvm/kvm_main.c of Linux 6.1"};

const backend_habit on_spin{"directed_yield", &backend::directed_yield, published,
                            "kvm_vcpu_on_spin, virt/kvm/kvm_main.c of Linux 6.1"};
const backend_habit to_kernel{"yields_to_kernel", &backend::yields_to_kernel, published,
                              "kvm_vcpu_on_spin, virt/kvm/kvm_main.c of Linux 6.1"};
const backend_habit to_woken{"yields_to_woken", &backend::yields_to_woken, published,
                             "vcpu->ready, virt/kvm/kvm_main.c of Linux 6.1"};
const backend_habit masked_wake{"interrupt_ends_wait", &backend::interrupt_ends_wait, published,
                                "WFI, LoongArch IDLE and the read of GUEST_IDLE end for a pending "
                                "interrupt even if it is masked"};
const backend_habit open_wake{"open_interrupt_ends_wait", &backend::open_interrupt_ends_wait,
                              published,
                              "kvm_wait, arch/x86/kernel/kvm.c of Linux 6.1, and kvm_lock_spinning "
                              "before 4.2: STI; HLT if interrupts were on"};

std::vector<backend_cost> arm64_costs() {
  return with(common_costs(nanoseconds(10), plain_look, nanoseconds(900)),
              {halt_poll(microseconds(500), "KVM_HALT_POLL_NS_DEFAULT, arm64 of Linux 6.1"),
               poll_start,
               {"event_stream", &backend::event_stream, microseconds(100), published,
                "10 kHz, drivers/clocksource/arm_arch_timer.c of Linux 6.1"},
               {"cycle", &backend::cycle, duration{333}, published, "3 GHz, Ampere Altra Q80-30"}});
}

backend_table arm64() {
  return {"kvm-arm64",
          "KVM of Linux 6.1 on arm64: WFE traps, halt polling, steal clock; a kick is an SGI",
          spin_exit::wfe,
          1,
          arm64_costs(),
          {on_spin,
           to_kernel,
           to_woken,
           masked_wake,
           {"steal_clock", &backend::steal_clock, published,
            "PV-time page, arch/arm64/kvm/pvtime.c of Linux 6.1"}}};
}

backend_table arm64_pv() {
  backend_table t = arm64();
  t.name = "kvm-arm64-pv";
  t.help = "the same with the kick hypercall of openEuler (kvm-pv-unhalt), not upstream";
  const std::string_view source = "openEuler OLK-6.6: SMCCC call 0xC5000096 sets pv_unhalted";
  t.habits.push_back({"kick_is_kept", &backend::kick_is_kept, published, source});
  t.habits.push_back({"kick_yields", &backend::kick_yields, published, source});
  return t;
}

backend_table x86() {
  const std::string_view kick = "KVM_HC_KICK_CPU, arch/x86/kvm/x86.c of Linux 6.1";
  return {
      "kvm-x86",
      "KVM of Linux 6.1 on x86: pause-loop exits, directed yield, halt polling, kick by hypercall",
      spin_exit::pause_loop,
      x86_pending_loops,
      with(common_costs(nanoseconds(6),
                        "a load that hits and a PAUSE of some 10 cycles (before Skylake: Intel's "
                        "optimization manual) at 2.5 GHz",
                        nanoseconds(1'200)),
           {halt_poll(microseconds(200), "KVM_HALT_POLL_NS_DEFAULT, x86 of Linux 6.1"),
            poll_start,
            {"spin_window", &backend::spin_window, nanoseconds(1'640), published,
             "ple_window 4096 cycles of KVM, at 2.5 GHz"}}),
      {on_spin,
       to_kernel,
       to_woken,
       open_wake,
       {"spin_window_grows", &backend::spin_window_grows, published,
        "ple_window_grow 2, arch/x86/kvm/vmx/vmx.c of Linux 6.1"},
       {"kick_yields", &backend::kick_yields, published, "commit 266e85a5ec91 of Linux 5.4"},
       {"kick_is_kept", &backend::kick_is_kept, published, kick},
       {"tells_preempted", &backend::tells_preempted, published,
        "kvm_steal_time.preempted, arch/x86/kvm/x86.c of Linux 6.1"}}};
}

/// Takes habits away that a kernel did not have yet.
backend_table without(backend_table t, std::initializer_list<std::string_view> habits) {
  std::erase_if(t.habits, [&](const backend_habit& h) {
    return std::find(habits.begin(), habits.end(), h.name) != habits.end();
  });
  return t;
}

backend_table x86_of_2015() {
  backend_table t = without(x86(), {"yields_to_kernel", "yields_to_woken", "kick_yields"});
  t.name = "kvm-x86-4.5";
  t.help = "KVM of Linux 4.5 on x86: directed yields to any preempted vCPU, a kick only wakes";
  for (backend_cost& c : t.costs)
    if (c.name == "halt_poll_max")
      c = {"halt_poll_max", &backend::halt_poll_max, microseconds(500), estimated,
           "KVM_HALT_POLL_NS_DEFAULT, x86 of Linux 4.4, from memory"};
  return t;
}

backend_table x86_of_2013() {
  backend_table t = without(x86_of_2015(), {"spin_window_grows", "tells_preempted"});
  t.name = "kvm-x86-3.11";
  t.help = "KVM of Linux 3.11 on x86: as 4.5 with a fixed pause-loop window and no halt polling";
  std::erase_if(t.costs, [](const backend_cost& c) { return c.name.starts_with("halt_poll"); });
  for (backend_cost& c : t.costs)
    if (c.name == "exit")
      c = {"exit", &backend::exit, nanoseconds(4'500), fitted,
           "pv-ticket-dbench: exit and entry, a scan, and in most exits a yield that takes the "
           "locks "
           "of two run queues which all CPUs want"};
  return t;
}

backend_table loongarch() {
  return {"kvm-loongarch",
          "KVM of Linux 6.10 on LoongArch: nothing ends a spin, no steal clock; a kick is an IPI, "
          "which no kernel uses",
          spin_exit::none,
          1,
          with(common_costs(nanoseconds(10), plain_look, nanoseconds(900)),
               {halt_poll(microseconds(500), "KVM_HALT_POLL_NS_DEFAULT, loongarch of Linux 6.10"),
                poll_start}),
          {masked_wake}};
}

backend_table hyperv() {
  return {"hyper-v",
          "Microsoft Hyper-V on x86 as Linux 4.19 saw it: idle by MSR GUEST_IDLE, kick by IPI",
          spin_exit::none,
          x86_pending_loops,
          common_costs(nanoseconds(20),
                       "between a PAUSE of 10 cycles and one of 140, before and since Skylake",
                       nanoseconds(1'200)),
          {masked_wake}};
}

}  // namespace

const std::vector<backend_table>& backend_tables() {
  static const std::vector<backend_table> all{arm64(),       arm64_pv(),  x86(),   x86_of_2015(),
                                              x86_of_2013(), loongarch(), hyperv()};
  return all;
}

}  // namespace hvsim::guest
