// SPDX-License-Identifier: Apache-2.0
// Faults handled ahead of the time of their locks against the same faults in order.
#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>

#include "hypervisor/simulate.hpp"
#include "sim/report/render.hpp"

using namespace simulate;

namespace {

// Whoever writes the fault stream sees every fault in order: nothing is handled ahead then.
void check_ahead_against_in_order(const words& sets) {
  const std::string trace =
      (std::filesystem::temp_directory_path() / "hvsim_test_ahead.trace").string();
  const auto s = scenario(sets);
  hvsim::experiment::run_options in_order;
  in_order.ftrace_file = trace;
  const auto ahead = hvsim::experiment::run(s);
  const auto ordered = hvsim::experiment::run(s, in_order);
  CHECK(ahead.fingerprint == ordered.fingerprint);
  auto a = hvsim::report::to_json(ahead), b = hvsim::report::to_json(ordered);
  a.erase("provenance");
  b.erase("provenance");
  CHECK(a == b);
  std::remove(trace.c_str());
}

}  // namespace

TEST_CASE("faults ahead of their locks give the results of faults in order") {
  for (const char* kernel : {"linux-5.17", "linux-5.18-rc2", "linux-5.18-rc2+parallel-rfc",
                             "linux-6.1", "linux-6.2", "linux-6.12"}) {
    for (const char* vcpus : {"1", "3", "16", "80"}) {
      CAPTURE(kernel, vcpus);
      words sets{std::string("hypervisor.kernel=") + kernel, std::string("vm.vcpus=") + vcpus};
      if (std::string(vcpus) == "80") {
        sets.insert(sets.end(), {"machine=generic-512", "workload.bytes_per_vcpu=2MiB"});
      } else {
        sets.insert(sets.end(), {"machine=altra-64", "workload.bytes_per_vcpu=4MiB"});
      }
      check_ahead_against_in_order(sets);
    }
  }
}

TEST_CASE("faults ahead of their locks, whatever lies behind the memory and however it is cut") {
  for (const words& change :
       {words{"workload.backing=anonymous"}, words{"workload.backing=shmem"},
        words{"workload.backing=anonymous_hugetlb_2mb"}, words{"workload.memslots=2"},
        words{"workload.bytes_per_vcpu=3MiB"},  // chunks that two vCPUs share
        words{"workload.bytes_per_vcpu=3MiB", "workload.memslots=4"},
        words{"workload.iterations=3", "workload.no_manual_protect=true"},
        words{"workload.run_while_disabling=true"}, words{"workload.post_passes=2"},
        words{"workload.write_percent=50"}, words{"workload.overlap=true"},
        words{"hypervisor.mark_dirty=after_unlock"}, words{"hypervisor.mmap_lock=false"},
        words{"hypervisor.mmu_lock=spinlock"}, words{"hypervisor.tlbi_scope=local"},
        words{"vm.vgic=false"}, words{"machine=qemu-max"}}) {
    for (const char* kernel : {"linux-5.18-rc2", "linux-6.12"}) {
      CAPTURE(change, kernel);
      words sets{"machine=altra-64", "vm.vcpus=4", "workload.bytes_per_vcpu=4MiB",
                 std::string("hypervisor.kernel=") + kernel};
      sets.insert(sets.end(), change.begin(), change.end());
      check_ahead_against_in_order(sets);
    }
  }
}
