// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/readers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "guest_workloads/session_host.hpp"
#include "sim/guest/parameters.hpp"

namespace hvsim::experiment {

namespace {

using registry::read_condition;
using registry::value_map;
using registry::workload_info;
using words = std::vector<std::string>;

/// "a, b or c".
std::string one_of(const words& all) {
  std::string out;
  for (std::size_t i = 0; i < all.size(); ++i)
    out += (i == 0 ? "" : i + 1 == all.size() ? " or " : ", ") + all[i];
  return out;
}

read_condition guest_kernel() {
  return {"by workloads with a guest kernel",
          [](const workload_info& w, const value_map&) { return w.guest_kernel; }};
}

read_condition no_guest_kernel() {
  return {"by workloads without a guest kernel",
          [](const workload_info& w, const value_map&) { return !w.guest_kernel; }};
}

read_condition workload_is(const std::string& name) {
  return {"by the workload " + name,
          [name](const workload_info& w, const value_map&) { return w.name == name; }};
}

read_condition is(const std::string& key, const words& choices) {
  return {fmt::format("if {} is {}", key, one_of(choices)),
          [key, choices](const workload_info&, const value_map& v) {
            return std::find(choices.begin(), choices.end(), v.text(key)) != choices.end();
          }};
}

read_condition on(const std::string& key) {
  return {fmt::format("if {} is true", key),
          [key](const workload_info&, const value_map& v) { return v.boolean(key); }};
}

read_condition zero(const std::string& key) {
  return {fmt::format("if {} is 0", key),
          [key](const workload_info&, const value_map& v) { return v.integer(key) == 0; }};
}

read_condition not_zero(const std::string& key) {
  return {fmt::format("if {} is not 0", key),
          [key](const workload_info&, const value_map& v) { return v.integer(key) != 0; }};
}

/// Guests' kernels always have a host with a scheduler, other workloads if threads share CPUs.
read_condition host_schedules() {
  return {"if threads share CPUs: with a guest kernel, or a host.cpus below their number",
          [](const workload_info& w, const value_map& v) {
            const auto vcpus = static_cast<std::uint32_t>(v.integer("vm.vcpus"));
            return w.guest_kernel || workloads::session_host::needed(v, vcpus + 1);
          }};
}

read_condition looks_at_waiter_before() {
  return {"if a waiter looks at the one before it (guest.pv_wait_early)",
          [](const workload_info&, const value_map& v) {
            return guest::make_system_options(v).kernel.pv.wait_early;
          }};
}

/// The back ends for which `has` is true.
template <class Has>
read_condition backend_with(Has has) {
  words names;
  for (const std::string& name : guest::backend_names())
    if (has(guest::find_backend(name))) names.push_back(name);
  return is("guest.backend", names);
}

/// One row: the parameters and their conditions.
struct reader {
  std::string key;  ///< of one parameter, or the beginning of several with a dot at its end
  std::vector<read_condition> when;
  words except{};  ///< keys that the row does not mean
};

std::vector<reader> readers() {
  const read_condition pv_queued = is("guest.lock", {"pv-qspinlock"});
  const read_condition traps_wfe =
      backend_with([](const guest::backend& b) { return b.spin == guest::spin_exit::wfe; });
  const read_condition polls =
      backend_with([](const guest::backend& b) { return b.halt_poll_max != engine::duration{}; });
  // A guest's session places no threads on cores and has no stage-2 translation.
  return {
      {"vm.", {no_guest_kernel()}, {"vm.vcpus"}},
      {"vm.cores", {is("vm.placement", {"list"})}},
      {"host.populate_phase_offset", {workload_is("dirty_log_perf_test")}},
      {"host.populate_extra_locked", {no_guest_kernel()}},
      {"host.vms", {guest_kernel()}},
      {"host.pinned", {host_schedules()}},
      {"host.scheduler", {host_schedules()}},
      {"host.preemption", {no_guest_kernel(), host_schedules()}},
      {"host.tick", {host_schedules()}},
      {"host.switch_cost", {host_schedules()}},
      {"host.cool_after", {guest_kernel(), not_zero("host.cold_permille")}},
      {"host.warm_up", {guest_kernel(), not_zero("host.cold_permille")}},
      {"host.cold_permille", {guest_kernel()}},
      {"hypervisor.", {no_guest_kernel()}},
      {"hypervisor.permission_fast_path",
       {is("hypervisor.mmu_lock", {"rwlock"}), is("hypervisor.fault_side", {"write"})}},
      {"hypervisor.notifier_seq", {on("hypervisor.mmap_lock")}},
      {"hypervisor.eager_split_chunk", {on("hypervisor.eager_split_call")}},
      {"hypervisor.flush_by_range", {on("machine.features.tlbi_range")}},
      {"guest.", {guest_kernel()}},
      {"guest.pv", {pv_queued}},
      {"guest.pv_steal", {pv_queued}},
      {"guest.pv_wait_early", {pv_queued}},
      {"guest.pv_kick", {pv_queued}},
      {"guest.pv_spin_threshold", {is("guest.lock", {"pv-ticket", "pv-qspinlock"})}},
      {"guest.pv_check_period", {pv_queued, looks_at_waiter_before()}},
      {"guest.twedel", {traps_wfe}},
      {"guest.event_stream", {traps_wfe}},
      {"guest.halt_poll", {polls}},
      {"machine.features.", {no_guest_kernel()}},
      // What a contended line of a guest's lock costs.
      {"machine.costs.",
       {no_guest_kernel()},
       {"machine.costs.line_local", "machine.costs.line_transfer", "machine.costs.line_hop"}},
  };
}

/// Of one workload's own parameters.
std::vector<std::pair<std::string, reader>> workload_readers() {
  return {
      {"reaim", {"workload.increment", {zero("workload.processes")}}},
      {"reaim", {"workload.last", {zero("workload.processes")}}},
  };
}

/// Adds the conditions of `r` to the rows that it means, and returns how many those are.
std::size_t add(std::vector<registry::parameter>& table, const reader& r) {
  std::size_t found = 0;
  for (registry::parameter& p : table) {
    const bool meant = r.key.ends_with('.') ? p.key.starts_with(r.key) : p.key == r.key;
    if (!meant || std::find(r.except.begin(), r.except.end(), p.key) != r.except.end()) continue;
    p.read_when.insert(p.read_when.end(), r.when.begin(), r.when.end());
    ++found;
  }
  return found;
}

}  // namespace

void state_readers(registry::catalogue& c) {
  const auto require = [](std::size_t found, const reader& r) {
    if (found == 0) throw std::logic_error("a reader of an unknown key " + r.key);
  };
  for (const reader& r : readers())
    require(add(c.common, r) + add(c.topology, r) + add(c.costs, r), r);
  for (const auto& [name, r] : workload_readers())
    for (registry::workload_info& w : c.workloads)
      if (w.name == name) require(add(w.parameters, r), r);
}

}  // namespace hvsim::experiment
