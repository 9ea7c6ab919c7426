// SPDX-License-Identifier: Apache-2.0
#include "sim/guest/parameters.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace hvsim::guest {

namespace {

using registry::parameter;
using registry::value_map;
using registry::value_type;

constexpr double longest = 1e12;  // 1 s

std::vector<std::string> lock_names() {
  std::vector<std::string> names;
  for (const lock_kind& k : register_builtin_guest_locks()) names.push_back(k.name);
  return names;
}

std::vector<std::string> pv_names() {
  std::vector<std::string> names;
  for (const locks::pv_preset& p : locks::pv_presets()) names.emplace_back(p.kernel);
  return names;
}

std::vector<std::string> policy_names() {
  std::vector<std::string> names;
  for (const sched::policy_kind& k : sched::register_builtin_policies()) names.push_back(k.name);
  return names;
}

std::vector<parameter> host_parameters() {
  return {
      {"host.cpus",
       value_type::integer,
       "0",
       "CPUs that the vCPU threads share, and the VMM's main thread unless the workload has a "
       "guest "
       "kernel; 0: one a thread",
       0.0,
       1024.0,
       {}},
      {"host.vms", value_type::integer, "1", "VMs on the host, all alike", 1.0, 16.0, {}},
      {"host.pinned",
       value_type::boolean,
       "false",
       "each vCPU v keeps to CPU v modulo host.cpus, instead of going where the scheduler says",
       {},
       {},
       {}},
      {"host.background",
       value_type::integer,
       "0",
       "tasks of the host that always want a CPU",
       0.0,
       1024.0,
       {}},
      {"host.scheduler",
       value_type::choice,
       "cfs",
       "policy of the host's scheduler",
       {},
       {},
       policy_names()},
      {"host.preemption",
       value_type::choice,
       "kernel",
       "kernel: who holds a spinlock of the host, or spins for one, is not preempted; blind: the "
       "host's CPUs are themselves taken away without regard to locks",
       {},
       {},
       {"kernel", "blind"}},
      {"host.tick", value_type::time, "4ms", "1/HZ of the host", 1e8, longest, {}},
      {"host.switch_cost",
       value_type::time,
       "2us",
       "context switch between threads of the host",
       0.0,
       longest,
       {}},
      {"host.cool_after",
       value_type::time,
       "20ms",
       "a CPU that was idle for longer is cold, as all are at the start",
       0.0,
       longest,
       {}},
      {"host.warm_up",
       value_type::time,
       "0ns",
       "work, as a warm CPU's time for it, that makes a cold one warm; 0: never cold",
       0.0,
       longest,
       {}},
      {"host.cold_permille",
       value_type::integer,
       "0",
       "parts in 1000 by which work takes a cold CPU longer",
       0.0,
       10000.0,
       {}},
  };
}

std::vector<parameter> guest_parameters() {
  const auto preset_or = [](std::vector<std::string> more) {
    more.insert(more.begin(), "preset");
    return more;
  };
  return {
      {"guest.backend",
       value_type::choice,
       "kvm-arm64",
       "hypervisor under a guest kernel: how its vCPUs sleep, are kicked, and leave when they spin",
       {},
       {},
       backend_names()},
      {"guest.lock",
       value_type::choice,
       "qspinlock",
       "algorithm of the guest's spinlocks",
       {},
       {},
       lock_names()},
      {"guest.pv",
       value_type::choice,
       "linux-5.4",
       "rules of pv-qspinlock, by the kernel that has them first",
       {},
       {},
       pv_names()},
      {"guest.pv_steal",
       value_type::choice,
       "preset",
       "how a newcomer gets past the queue of pv-qspinlock",
       {},
       {},
       preset_or({"never", "once", "hybrid"})},
      {"guest.pv_wait_early",
       value_type::choice,
       "preset",
       "sleep when the waiter before does not run",
       {},
       {},
       preset_or({"off", "halted", "preempted"})},
      {"guest.pv_kick",
       value_type::choice,
       "preset",
       "when a sleeping head of the queue is kicked",
       {},
       {},
       preset_or({"promotion", "unlock"})},
      {"guest.pv_spin_threshold",
       value_type::integer,
       "32768",
       "looks before a waiter of pv-qspinlock or pv-ticket sleeps (SPIN_THRESHOLD)",
       1.0,
       16777216.0,
       {}},
      {"guest.pv_check_period",
       value_type::integer,
       "256",
       "looks between two at the waiter before (PV_PREV_CHECK_MASK + 1)",
       1.0,
       65536.0,
       {}},
      {"guest.tick", value_type::time, "4ms", "1/HZ of the guest", 1e8, longest, {}},
      {"guest.switch_cost",
       value_type::time,
       "1us",
       "context switch between tasks of the guest",
       0.0,
       longest,
       {}},
      {"guest.steal_clock",
       value_type::choice,
       "backend",
       "whether the guest's scheduler knows stolen time",
       {},
       {},
       {"backend", "on", "off"}},
      {"guest.twedel",
       value_type::integer,
       "-1",
       "TWED of arm64: a WFE traps after 2^(twedel+8) cycles; -1: off, at once",
       -1.0,
       15.0,
       {}},
      {"guest.event_stream",
       value_type::time,
       "100us",
       "arm64: period of the timer events that end a WFE, and with it a longer TWED; 0: off",
       0.0,
       longest,
       {}},
      {"guest.halt_poll",
       value_type::time,
       "500us",
       "longest halt polling of KVM, in which a halted vCPU keeps its CPU",
       0.0,
       longest,
       {}},
  };
}

locks::pv_options make_pv_options(const value_map& v) {
  locks::pv_options o;
  for (const locks::pv_preset& p : locks::pv_presets())
    if (p.kernel == v.text("guest.pv")) o = p.options;
  const std::string& steal = v.text("guest.pv_steal");
  if (steal == "never") o.steal = locks::stealing::never;
  if (steal == "once") o.steal = locks::stealing::once;
  if (steal == "hybrid") o.steal = locks::stealing::hybrid;
  const std::string& early = v.text("guest.pv_wait_early");
  if (early != "preset") {
    o.wait_early = early != "off";
    o.wait_early_preempted = early == "preempted";
  }
  const std::string& kick = v.text("guest.pv_kick");
  if (kick != "preset") o.kick_at_promotion = kick == "promotion";
  o.spin_threshold = static_cast<std::uint32_t>(v.integer("guest.pv_spin_threshold"));
  o.check_period = static_cast<std::uint32_t>(v.integer("guest.pv_check_period"));
  return o;
}

}  // namespace

std::vector<parameter> parameters() {
  std::vector<parameter> all = host_parameters();
  for (parameter& p : guest_parameters()) all.push_back(std::move(p));
  return all;
}

host_options make_host_options(const value_map& v) {
  host_options o;
  o.vms = static_cast<std::uint32_t>(v.integer("host.vms"));
  o.scheduler.cpus = static_cast<std::uint32_t>(v.integer("host.cpus"));
  if (o.scheduler.cpus == 0)
    o.scheduler.cpus = static_cast<std::uint32_t>(v.integer("vm.vcpus")) * o.vms;
  o.scheduler.tick = v.time("host.tick");
  o.scheduler.switch_cost = v.time("host.switch_cost");
  o.scheduler.warmth.cool_after = v.time("host.cool_after");
  o.scheduler.warmth.warm_up = v.time("host.warm_up");
  o.scheduler.warmth.cold_permille = static_cast<std::uint32_t>(v.integer("host.cold_permille"));
  o.policy = v.text("host.scheduler");
  o.preemption =
      v.text("host.preemption") == "blind" ? sched::preemption::blind : sched::preemption::kernel;
  o.pinned = v.boolean("host.pinned");
  o.background = static_cast<std::uint32_t>(v.integer("host.background"));
  return o;
}

system_options make_system_options(const value_map& v) {
  system_options o;
  o.back = find_backend(v.text("guest.backend"));
  if (o.back.halt_poll_max != engine::duration{})
    o.back.halt_poll_max = std::min(o.back.halt_poll_max, v.time("guest.halt_poll"));
  if (o.back.spin == spin_exit::wfe) {
    const std::int64_t delay = v.integer("guest.twedel");
    if (delay >= 0) o.back.spin_window = twed_delay(o.back, static_cast<std::uint32_t>(delay));
    o.back.event_stream = v.time("guest.event_stream");
  }
  if (v.text("guest.steal_clock") != "backend")
    o.back.steal_clock = v.text("guest.steal_clock") == "on";
  o.kernel.lock = v.text("guest.lock");
  o.kernel.pv = make_pv_options(v);
  o.kernel.seed = static_cast<std::uint64_t>(v.integer("seed"));
  o.scheduler.cpus = static_cast<std::uint32_t>(v.integer("vm.vcpus"));
  o.scheduler.tick = v.time("guest.tick");
  o.scheduler.switch_cost = v.time("guest.switch_cost");
  return o;
}

}  // namespace hvsim::guest
