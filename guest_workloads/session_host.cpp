// SPDX-License-Identifier: Apache-2.0
#include "guest_workloads/session_host.hpp"

namespace hvsim::workloads {

namespace {
constexpr std::uint32_t nobody = ~0U;
}

session_host::session_host(engine::engine& e, const guest::host_options& options,
                           std::vector<engine::core_id> cores)
    : cores_(std::move(cores)),
      last_vcpu_(cores_.size(), nobody),
      pinned_(options.pinned),
      clock_(e),
      scheduler_(clock_, sched::make_policy(options.policy, options.scheduler.cpus),
                 options.scheduler),
      sharing_(e, scheduler_, options.preemption) {
  for (std::uint32_t i = 0; i < options.background; ++i) {
    background_.push_back(std::make_unique<sched::background_task>());
    const auto cpu = static_cast<std::uint32_t>(i % cores_.size());
    if (pinned_) background_.back()->allowed = {cpu, 1};
    scheduler_.add(*background_.back(), sched::cpu_index{cpu}, engine::sim_time{});
  }
}

bool session_host::needed(const registry::value_map& v, std::uint32_t threads) {
  const std::int64_t cpus = v.integer("host.cpus");
  return cpus != 0 && cpus < v.integer("host.background") + threads;
}

void session_host::add_main(machine::cpu& main) {
  sharing_.add(*main.thread, all(),
               [this, &main](sched::cpu_index on) { main.core = cores_[on.value()]; });
}

void session_host::add_vcpu(vcpu::vcpu& v) {
  const auto own = static_cast<std::uint32_t>(v.id().value() % cores_.size());
  sharing_.add(*v.cpu.thread, pinned_ ? sched::cpu_range{own, 1} : all(),
               [this, &v](sched::cpu_index on) { place(v, on); });
}

// kvm_arch_vcpu_load flushes the CPU's context of this VM if another vCPU ran there last; on a new
// CPU there is nothing of this vCPU to flush.
void session_host::place(vcpu::vcpu& v, sched::cpu_index on) {
  const engine::core_id core = cores_[on.value()];
  std::uint32_t& last = last_vcpu_[on.value()];
  if (last != v.id().value() || core != v.cpu.core) v.forget_translations();
  last = v.id().value();
  v.cpu.core = core;
}

std::vector<std::pair<std::string, std::uint64_t>> session_host::counts() const {
  return {{"host_switches", scheduler_.switches()},
          {"host_migrations", scheduler_.migrations()},
          {"lock_holder_preemptions", sharing_.holder_preemptions()},
          {"locks_handed_off_cpu", sharing_.handed_off_cpu()}};
}

}  // namespace hvsim::workloads
