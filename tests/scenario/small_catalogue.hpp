// SPDX-License-Identifier: Apache-2.0
// A catalogue with one parameter of each type, for tests of the parser alone.
#pragma once

#include "sim/registry/catalogue.hpp"

namespace hvsim::test {

inline constexpr const char* unit_machine = R"(schema_version: 1
machine: unit
description: round numbers
topology:
  cores: 8
features:
  range_tlbi: true
costs:
  trap: {value: 100ns, kind: published, source: "a paper", spread: 2%}
  dram: {value: 10GB/s, kind: derived, source: "a data sheet"}
  hop: {value: 5ns, kind: fitted, source: "a table", min: 1ns, max: 9ns}
)";

inline registry::catalogue small_catalogue() {
  using registry::parameter;
  using registry::value_type;
  registry::catalogue c;
  c.common = {
      {"seed", value_type::integer, "1", "seed of all random streams", 0.0, {}, {}},
      {"vm.vcpus", value_type::integer, "1", "virtual CPUs", 1.0, 512.0, {}},
      {"vm.memory", value_type::size, "1GiB", "guest memory", 4096.0, 17592186044416.0, {}},
      {"vm.placement",
       value_type::choice,
       "compact",
       "vCPUs on cores",
       {},
       {},
       {"compact", "spread", "list"}},
      {"vm.cores", value_type::list, "[]", "cores of placement list", 0.0, 1023.0, {}},
      {"hypervisor.kernel",
       value_type::choice,
       "linux-a",
       "kernel preset",
       {},
       {},
       {"linux-a", "linux-b"}},
      {"hypervisor.mmu_lock",
       value_type::choice,
       "spinlock",
       "kind of mmu_lock",
       {},
       {},
       {"spinlock", "rwlock"}},
      {"hypervisor.eager_split",
       value_type::boolean,
       "false",
       "split before write faults",
       {},
       {},
       {}},
      {"hypervisor.dirty.chunk",
       value_type::size,
       "2MiB",
       "chunk of an eager split",
       4096.0,
       {},
       {}},
      {"host.tick", value_type::time, "4ms", "scheduler tick", 1000.0, 1e12, {}},
      {"host.bandwidth_share", value_type::real, "1", "share of DRAM bandwidth", 0.0, 1.0, {}},
      {"host.label", value_type::text, "\"\"", "free label", {}, {}, {}},
  };
  c.topology = {
      {"machine.topology.cores", value_type::integer, "", "cores", 1.0, 1024.0, {}},
      {"machine.features.range_tlbi", value_type::boolean, "false", "FEAT_TLBIRANGE", {}, {}, {}},
  };
  c.costs = {
      {"machine.costs.trap", value_type::time, "", "exit and entry", 0.0, 1e9, {}},
      {"machine.costs.dram", value_type::rate, "", "DRAM bandwidth", 1e6, {}, {}},
      {"machine.costs.hop", value_type::time, "", "one mesh hop", 0.0, 1e9, {}},
  };
  c.workloads = {
      {"touch",
       "writes every page once",
       {{"workload.pages", value_type::integer, "", "pages to touch", 1.0, {}, {}},
        {"workload.think", value_type::time, "0", "time between accesses", 0.0, {}, {}}}},
      {"regions",
       "a stream described as regions",
       {{"workload.regions", value_type::structure, "", "what to touch", {}, {}, {}},
        {"workload.rounds", value_type::integer, "1", "how often", 1.0, {}, {}}}},
  };
  c.kernels = {
      {"linux-a", "spinlock everywhere", {{"hypervisor.mmu_lock", "spinlock"}}},
      {"linux-b",
       "read side for faults",
       {{"hypervisor.mmu_lock", "rwlock"}, {"hypervisor.eager_split", "true"}}},
  };
  c.machines = {{"unit", unit_machine}};
  return c;
}

}  // namespace hvsim::test
