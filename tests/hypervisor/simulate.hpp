// SPDX-License-Identifier: Apache-2.0
// Runs dirty_log_perf_test on the modelled kernel from a few `key=value` words.
#pragma once

#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/experiment/catalogue.hpp"
#include "sim/experiment/run.hpp"
#include "sim/scenario/parse.hpp"

namespace simulate {

using words = std::vector<std::string>;

inline const hvsim::registry::catalogue& catalogue() {
  static const hvsim::registry::catalogue all = [] {
    auto c = hvsim::experiment::builtin_catalogue();
    for (const char* name : {"altra-64", "unit", "generic-512", "qemu-neoverse-n1", "qemu-max"}) {
      std::ifstream file(std::string(HVSIM_SOURCE_DIR "/configs/machines/") + name + ".yaml");
      if (!file) throw std::runtime_error(std::string("no machine profile ") + name);
      std::stringstream text;
      text << file.rdbuf();
      c.machines.emplace_back(name, text.str());
    }
    return c;
  }();
  return all;
}

/// One vCPU, 64 MiB of THP, machine `unit`, linux-6.1, without manual protection; `sets` win.
inline hvsim::scenario::scenario scenario(const words& sets) {
  const std::string text =
      "schema_version: 1\nname: test\nmachine: unit\nvm: {vcpus: 1}\n"
      "hypervisor: {kernel: linux-6.1}\n"
      "workload: {type: dirty_log_perf_test, backing: anonymous_thp, bytes_per_vcpu: 64MiB, "
      "no_manual_protect: true}\n";
  auto parsed = hvsim::scenario::parse_text(text, "test.yaml", catalogue(), sets);
  if (!parsed) throw std::runtime_error(parsed.errors.at(0).path + ": " + parsed.errors[0].message);
  return *parsed.value;
}

/// Two vCPUs on one 2 MiB block of memory that both walk.
inline hvsim::scenario::scenario one_block(const std::string& kernel, const words& more = {}) {
  words w{"vm.vcpus=2",
          "workload.bytes_per_vcpu=1MiB",
          "workload.overlap=true",
          "workload.post_passes=1",
          "workload.teardown=false",
          "hypervisor.kernel=" + kernel};
  w.insert(w.end(), more.begin(), more.end());
  return scenario(w);
}

inline hvsim::report::run_result run(const words& sets) {
  return hvsim::experiment::run(scenario(sets));
}

using counts = std::map<std::string, std::uint64_t>;

/// Counts of each phase by kind.
inline std::map<std::string, counts> counts_by_phase(const hvsim::report::run_result& r) {
  std::map<std::string, counts> out;
  for (const auto& p : r.phases)
    for (const auto& c : p.counts) out[p.name][c.name] = c.value;
  return out;
}

}  // namespace simulate
