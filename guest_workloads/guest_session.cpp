// SPDX-License-Identifier: Apache-2.0
#include "guest_workloads/guest_session.hpp"

#include <algorithm>
#include <stdexcept>

#include "sim/engine/fingerprint.hpp"

namespace hvsim::workloads {

using engine::duration;
using engine::sim_time;

guest_session::guest_session(const scenario::scenario& s)
    : config(s),
      machine(machine::make_profile(s.machine.name, s.machine.values, {})),
      clock(engine),
      host_options(guest::make_host_options(s.values)),
      host(clock, sched::make_policy(host_options.policy, host_options.scheduler.cpus),
           host_options.scheduler) {
  guest::system_options o = guest::make_system_options(s.values);
  for (std::uint32_t v = 0; v < host_options.vms; ++v) {
    guests.push_back(std::make_unique<guest::system>(engine, machine, clock, host, o));
    // VMs that are alike still draw for themselves.
    o.kernel.seed = o.kernel.seed * 0x9e3779b97f4a7c15ULL + 1;
  }
}

guest_session::~guest_session() = default;

void guest_session::run() {
  const std::uint32_t cpus = host_options.scheduler.cpus;
  for (std::uint32_t i = 0; i < host_options.background; ++i) {
    background_.push_back(std::make_unique<sched::background_task>());
    host.add(*background_.back(), sched::cpu_index{i % cpus}, sim_time{});
  }
  for (const auto& g : guests) {
    std::vector<sched::cpu_range> allowed;
    for (std::uint32_t v = 0; v < g->machine().vcpus(); ++v)
      allowed.push_back(host_options.pinned ? sched::cpu_range{v % cpus, 1}
                                            : sched::cpu_range{0, cpus});
    g->machine().start(allowed, sim_time{});
  }
  engine.run();
  for (const auto& g : guests)
    for (const auto& t : g->os().tasks()) result.end = std::max(result.end, t->exec.fiber().now());
}

std::vector<std::pair<std::string, duration>> vcpu_breakdown(const guest_session& s) {
  using sched::account;
  sched::ledger tasks;
  guest::vcpu_times vcpus;
  for (const auto& g : s.guests) {
    tasks.add(g->os().ended());
    for (std::uint32_t v = 0; v < g->machine().vcpus(); ++v) {
      const guest::vcpu_times t = g->machine().vcpu(v).times(s.result.end);
      vcpus.guest += t.guest;
      vcpus.polling += t.polling;
      vcpus.asleep += t.asleep;
      vcpus.stolen += t.stolen;
    }
  }
  std::vector<std::pair<std::string, duration>> out;
  duration busy;
  for (const account a : {account::user, account::kernel, account::lock_line, account::spin,
                          account::exit, account::hypercall, account::switching}) {
    out.emplace_back(std::string(sched::to_string(a)), tasks.in(a));
    busy += tasks.in(a);
  }
  out.emplace_back("guest_idle", vcpus.guest - busy);
  out.emplace_back("halt_polling", vcpus.polling);
  out.emplace_back("halted", vcpus.asleep);
  out.emplace_back("steal", vcpus.stolen);
  return out;
}

std::vector<std::pair<std::string, std::uint64_t>> guest_counts(const guest_session& s) {
  guest::locks::lock_event_counts events{};
  std::uint64_t wfe = 0;
  std::uint64_t attempted_poll = 0;
  std::uint64_t successful_poll = 0;
  std::uint64_t wakeups = 0;
  std::uint64_t yields = 0;
  std::uint64_t yields_done = 0;
  std::uint64_t guest_switches = 0;
  std::uint64_t guest_migrations = 0;
  for (const auto& g : s.guests) {
    for (std::size_t i = 0; i < events.size(); ++i) events[i] += g->os().lock_events()[i];
    for (std::uint32_t v = 0; v < g->machine().vcpus(); ++v) {
      const guest::vcpu_thread& t = g->machine().vcpu(v);
      wfe += t.wfe_exits;
      attempted_poll += t.halt_attempted_poll;
      successful_poll += t.halt_successful_poll;
      wakeups += t.halt_wakeup;
    }
    yields += g->machine().directed_yield_attempted;
    yields_done += g->machine().directed_yield_successful;
    guest_switches += g->scheduler().switches();
    guest_migrations += g->scheduler().migrations();
  }
  std::vector<std::pair<std::string, std::uint64_t>> out;
  for (std::size_t i = 0; i < events.size(); ++i)
    out.emplace_back(std::string(guest::locks::to_string(static_cast<guest::locks::lock_event>(i))),
                     events[i]);
  out.emplace_back("wfe_exit_stat", wfe);
  out.emplace_back("halt_attempted_poll", attempted_poll);
  out.emplace_back("halt_successful_poll", successful_poll);
  out.emplace_back("halt_wakeup", wakeups);
  out.emplace_back("directed_yield_attempted", yields);
  out.emplace_back("directed_yield_successful", yields_done);
  out.emplace_back("guest_switches", guest_switches);
  out.emplace_back("guest_migrations", guest_migrations);
  out.emplace_back("host_switches", s.host.switches());
  out.emplace_back("host_migrations", s.host.migrations());
  return out;
}

std::uint64_t guest_fingerprint(const guest_session& s) {
  engine::fingerprint print;
  for (const auto& g : s.guests)
    for (const auto& t : g->os().tasks()) {
      print.add(static_cast<std::uint64_t>(t->exec.fiber().now().ps()));
      for (std::size_t i = 0; i < sched::account_count; ++i)
        print.add(
            static_cast<std::uint64_t>(t->exec.accounts().in(static_cast<sched::account>(i)).ps()));
    }
  for (const auto& [name, value] : guest_counts(s)) print.add(value);
  return print.value();
}

}  // namespace hvsim::workloads
