// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/catalogue.hpp"

#include "guest_workloads/workload.hpp"
#include "sim/experiment/readers.hpp"
#include "sim/guest/parameters.hpp"
#include "sim/hypervisor/switches.hpp"
#include "sim/machine/profile.hpp"

namespace hvsim::experiment {

namespace {

using registry::value_type;

// KVM_MAX_VCPUS of arm64 (VGIC_V3_MAX_CPUS).
constexpr double max_vcpus = 512;

std::vector<registry::parameter> vm_parameters() {
  return {
      {"seed", value_type::integer, "1", "seed of all random streams", 0.0, 9007199254740992.0, {}},
      {"vm.vcpus",
       value_type::integer,
       "1",
       "-v: vCPUs, each on a core of its own unless host.cpus has them take turns",
       1.0,
       max_vcpus,
       {}},
      {"vm.placement",
       value_type::choice,
       "compact",
       "which cores the vCPU threads run on: cluster after cluster, at equal distances, or "
       "vm.cores",
       {},
       {},
       {"compact", "spread", "list"}},
      {"vm.cores",
       value_type::list,
       "[]",
       "cores of vm.placement list, one a vCPU, or one a CPU of host.cpus",
       0.0,
       1000.0,
       {}},
      {"vm.ipa_bits",
       value_type::integer,
       "48",
       "-m: guest physical address bits (48 for PXXV48_4K, 40 for P40V48_4K), 4 KiB granule",
       40.0,
       48.0,
       {}},
      {"vm.vgic",
       value_type::boolean,
       "true",
       "in-kernel vGIC; without it every exit pays more",
       {},
       {},
       {}},
      {"vm.image",
       value_type::choice,
       "selftest-6.1",
       "layout of the guest program and its stage-1 tables",
       {},
       {},
       workloads::image_names()},
      {"host.populate_phase_offset",
       value_type::time,
       "0",
       "correction: time before the first guest access of the populate phase",
       0.0,
       1e12,
       {}},
      {"host.populate_extra_locked",
       value_type::time,
       "0",
       "correction: time added under mmu_lock for each block mapped",
       0.0,
       1e12,
       {}},
  };
}

}  // namespace

registry::catalogue builtin_catalogue() {
  registry::catalogue c;
  c.common = vm_parameters();
  for (auto& p : hypervisor::parameters()) c.common.push_back(std::move(p));
  for (auto& p : guest::parameters()) c.common.push_back(std::move(p));
  c.costs = machine::cost_parameters();
  c.topology = machine::topology_parameters();
  for (auto& w : workloads::register_builtin_workloads()) {
    c.workloads.push_back(std::move(w.info));
    c.workloads.back().guest_kernel = static_cast<bool>(w.run_guest);
  }
  c.kernels = hypervisor::kernel_presets();
  state_readers(c);
  return c;
}

}  // namespace hvsim::experiment
