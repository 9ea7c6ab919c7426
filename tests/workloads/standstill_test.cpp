// SPDX-License-Identifier: Apache-2.0
// Costs of nothing: runs that end all the same, and runs that cannot.
#include "sim/experiment/run.hpp"

#include <catch2/catch.hpp>

#include "sim/engine/engine.hpp"
#include "streams.hpp"

using namespace hvsim;
using Catch::Matchers::Contains;

namespace {

report::run_result run_without(const std::vector<std::string>& costs) {
  std::vector<std::string> sets;
  for (const std::string& c : costs) sets.push_back("machine.costs." + c + "=0");
  const auto s = scenario::parse_text(
      "schema_version: 1\nmachine: unit\nvm: {vcpus: 4}\nhypervisor: {kernel: linux-6.12}\n"
      "workload: {type: dirty_log_perf_test, bytes_per_vcpu: 2MiB, overlap: true}\n",
      "s.yaml", simulate::catalogue(), sets);
  REQUIRE(s);
  return experiment::run(*s.value);
}

}  // namespace

TEST_CASE("a lost race that costs nothing is an error and no endless run", "[workloads]") {
  // Whoever lost comes back at the same moment, and the winner is done later.
  const std::vector<std::string> free = {"trap",         "walk_descriptor", "fault_software",
                                         "vma_lookup",   "fault_locked",    "table_visit",
                                         "table_update", "line_local"};
  CHECK_THROWS_AS(run_without(free), engine::time_standstill);
  CHECK_THROWS_WITH(run_without(free),
                    Contains("virtual time stands still at 0.") &&
                        Contains("the same access faults again and again on vcpu"));
  // With any of them time passes.
  for (std::size_t i = 0; i < free.size(); ++i) {
    std::vector<std::string> but_one = free;
    but_one.erase(but_one.begin() + static_cast<std::ptrdiff_t>(i));
    INFO(free[i]);
    CHECK(run_without(but_one).faults > 0);
  }
}
