// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/convert.hpp"

#include <fmt/format.h>

#include <string>

namespace hvsim::experiment {

namespace {

report::latency_summary summarise(const engine::histogram& h) {
  return {h.count(),         h.min(),           h.mean(),          h.percentile(500),
          h.percentile(900), h.percentile(990), h.percentile(999), h.max()};
}

std::vector<report::named_time> name_parts(
    const std::array<engine::duration, engine::part_count>& parts) {
  std::vector<report::named_time> out;
  for (std::size_t i = 0; i < engine::part_count; ++i)
    if (parts[i] != engine::duration{})
      out.push_back({std::string(engine::to_string(static_cast<engine::part>(i))), parts[i]});
  return out;
}

report::exit_result merge_exits(const workloads::session& s, const char* reason,
                                vcpu::exit_stats vcpu::vcpu::*which) {
  report::exit_result e;
  e.reason = reason;
  for (const auto& v : s.vcpus) {
    const vcpu::exit_stats& x = (*v).*which;
    if (x.samples == 0) continue;
    if (e.samples == 0 || x.min < e.min) e.min = x.min;
    if (x.max > e.max) e.max = x.max;
    e.samples += x.samples;
    e.total += x.total;
  }
  return e;
}

report::lock_result convert_lock(const sync::lock_stats& l) {
  report::lock_result out;
  out.name = l.name();
  out.type = l.type();
  out.acquisitions = l.acquisitions();
  out.contended = l.contended();
  out.total_wait = l.wait().sum();
  out.max_wait = l.wait().max();
  out.total_hold = l.hold().sum();
  out.max_hold = l.hold().max();
  out.wait = summarise(l.wait());
  out.hold = summarise(l.hold());
  return out;
}

std::string vcpus_text(const scenario::scenario& s) {
  const std::int64_t n = s.values.integer("vm.vcpus");
  return fmt::format("{} vCPU{}", n, n == 1 ? "" : "s");
}

/// "linux-6.12 on altra-64, 4 vCPUs, placement compact, seed 1", with the CPUs that they share.
/// What the scenario changes in the preset of the kernel and in the machine's profile: ", with
/// hypervisor.mmap_lock false".
std::string changes_text(const scenario::scenario& s) {
  std::string out;
  for (const auto& [key, text] : s.texts) {
    const bool of_kernel = key.starts_with("hypervisor.") && key != "hypervisor.kernel";
    const bool of_machine = key.starts_with("machine.") && key != "machine.profile";
    if ((of_kernel || of_machine) && s.positions.contains(key))
      out += fmt::format("{}{} {}", out.empty() ? ", with " : ", ", key, text);
  }
  return out;
}

std::string setting_of_host(const scenario::scenario& s) {
  const std::int64_t cpus = s.values.integer("host.cpus");
  return fmt::format("{} on {}, {}{}, placement {}, seed {}{}", s.values.text("hypervisor.kernel"),
                     s.machine.name, vcpus_text(s),
                     cpus == 0 ? "" : fmt::format(" on {} CPU{}", cpus, cpus == 1 ? "" : "s"),
                     s.values.text("vm.placement"), s.values.integer("seed"), changes_text(s));
}

/// "kvm-arm64 on altra-64, lock qspinlock, 2 VMs of 4 vCPUs on 8 CPUs, seed 1". The kernel of the
/// host is not modelled there, and its CPUs are the first of the machine.
std::string setting_of_guest(const workloads::guest_session& s) {
  const scenario::scenario& c = s.config;
  const std::int64_t vms = c.values.integer("host.vms");
  std::int64_t cpus = c.values.integer("host.cpus");
  if (cpus == 0) cpus = c.values.integer("vm.vcpus") * vms;
  return fmt::format("{} on {}, lock {}, {} VM{} of {} on {} CPU{}, seed {}",
                     c.values.text("guest.backend"), c.machine.name, c.values.text("guest.lock"),
                     vms, vms == 1 ? "" : "s", vcpus_text(c), cpus, cpus == 1 ? "" : "s",
                     c.values.integer("seed"));
}

template <class Session>
report::run_result what_every_run_has(const Session& s) {
  report::run_result r;
  r.name = s.config.name;
  r.config = s.config.effective();
  r.seed = static_cast<std::uint64_t>(s.config.values.integer("seed"));
  for (const auto& t : s.result.times) r.times.push_back({t.key, t.label, t.time});
  r.text = s.result.text;
  return r;
}

}  // namespace

report::run_result convert(const workloads::session& s) {
  report::run_result r = what_every_run_has(s);
  r.setting = setting_of_host(s.config);
  r.threads = static_cast<std::uint32_t>(s.vcpus.size()) + 1;
  r.faults = s.vm->fault_count();
  r.guest_pages = s.test_size.value() >> 12;
  r.table_bytes = s.tables.peak_bytes().value() + s.vm->bookkeeping_bytes().value() +
                  s.mm.table_bytes().value() + s.guest->memory_bytes().value();
  r.source.phase_seconds = s.result.host_seconds;
  std::array<engine::duration, engine::part_count> total{};
  for (const workloads::phase& p : s.result.phases) {
    report::phase_result out;
    out.name = p.name;
    out.time = p.time;
    for (auto& [name, value] : p.counts.named()) out.counts.push_back({name, value});
    for (const auto& [name, value] : p.host_counts)
      if (value != 0) out.counts.push_back({name, value});
    out.breakdown = name_parts(p.parts);
    r.phases.push_back(std::move(out));
    r.total_time += p.time;
    for (std::size_t i = 0; i < engine::part_count; ++i) total[i] += p.parts[i];
  }
  r.breakdown = name_parts(total);
  for (const sync::lock_stats* l : s.vm->lock_statistics())
    if (l->acquisitions() != 0) r.locks.push_back(convert_lock(*l));
  for (auto& e : {merge_exits(s, "DABT_LOW", &vcpu::vcpu::data_aborts),
                  merge_exits(s, "IABT_LOW", &vcpu::vcpu::instruction_aborts)})
    if (e.samples != 0) r.exits.push_back(e);
  r.fault_latency = summarise(s.fault_latency);
  engine::fingerprint print;
  for (const auto& v : s.vcpus) {
    r.accesses += v->accesses;
    print.add(v->cpu.thread->print.value());
    print.add(static_cast<std::uint64_t>(v->cpu.thread->now().ps()));
  }
  print.add(static_cast<std::uint64_t>(s.main.thread->now().ps()));
  r.fingerprint = print.value();
  return r;
}

namespace {

void add_time(std::vector<report::named_time>& sums, const report::named_time& t) {
  for (report::named_time& s : sums)
    if (s.name == t.name) {
      s.time += t.time;
      return;
    }
  sums.push_back(t);
}

void add_guest_phase(report::run_result& r, const workloads::guest_session& s,
                     engine::fingerprint& print) {
  report::phase_result run;
  run.name = s.name;
  run.time = s.result.end - engine::sim_time{};
  for (auto& [name, value] : workloads::guest_counts(s))
    if (value != 0) run.counts.push_back({name, value});
  for (auto& [name, time] : workloads::vcpu_breakdown(s)) {
    if (time == engine::duration{}) continue;
    run.breakdown.push_back({name, time});
    add_time(r.breakdown, run.breakdown.back());
  }
  r.total_time += run.time;
  r.phases.push_back(std::move(run));
  for (const auto& g : s.guests)
    for (const auto& l : g->os().spinlocks())
      if (l->stats().acquisitions() != 0) r.locks.push_back(convert_lock(l->stats()));
  print.add(workloads::guest_fingerprint(s));
}

}  // namespace

report::run_result convert(const workloads::guest_session& s) {
  report::run_result r = what_every_run_has(s);
  r.setting = setting_of_guest(s);
  for (const auto& [key, value] : s.result.numbers) r.numbers.push_back({key, value});
  engine::fingerprint print;
  add_guest_phase(r, s, print);
  for (const auto& l : s.later) add_guest_phase(r, *l, print);
  for (const auto& g : s.guests) r.threads += g->machine().vcpus();
  r.fingerprint = print.value();
  return r;
}

}  // namespace hvsim::experiment
