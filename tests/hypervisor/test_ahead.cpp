// SPDX-License-Identifier: Apache-2.0
// Faults handled ahead of the time of their locks against the same faults in order.
#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>

#include "hypervisor/simulate.hpp"
#include "sim/report/render.hpp"

using namespace simulate;

// Whoever writes the fault stream sees every fault in order: nothing is handled ahead then.
TEST_CASE("faults ahead of their locks give the results of faults in order") {
  const std::string trace =
      (std::filesystem::temp_directory_path() / "hvsim_test_ahead.trace").string();
  for (const char* kernel : {"linux-5.17", "linux-5.18-rc2", "linux-5.18-rc2+parallel-rfc",
                             "linux-6.1", "linux-6.2", "linux-6.12"}) {
    for (const char* vcpus : {"1", "3", "16"}) {
      CAPTURE(kernel, vcpus);
      const auto s = scenario({"machine=altra-64", std::string("hypervisor.kernel=") + kernel,
                               std::string("vm.vcpus=") + vcpus, "workload.bytes_per_vcpu=4MiB"});
      hvsim::experiment::run_options in_order;
      in_order.ftrace_file = trace;
      const auto ahead = hvsim::experiment::run(s);
      const auto ordered = hvsim::experiment::run(s, in_order);
      CHECK(ahead.fingerprint == ordered.fingerprint);
      auto a = hvsim::report::to_json(ahead), b = hvsim::report::to_json(ordered);
      a.erase("provenance");
      b.erase("provenance");
      CHECK(a == b);
    }
  }
  std::remove(trace.c_str());
}
