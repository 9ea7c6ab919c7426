// SPDX-License-Identifier: Apache-2.0
// Costs of nothing: runs that end all the same, and runs that cannot.
#include "sim/experiment/run.hpp"

#include <catch2/catch.hpp>

#include "sim/engine/engine.hpp"
#include "sim/sched/scheduler.hpp"
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

TEST_CASE("context switches that outlast every slice are an error and no endless run",
          "[workloads]") {
  const auto run = [](const std::string& text, const std::vector<std::string>& sets) {
    const auto s = scenario::parse_text("schema_version: 1\nmachine: unit\nvm: {vcpus: 4}\n" + text,
                                        "s.yaml", simulate::catalogue(), sets);
    REQUIRE(s);
    return experiment::run(*s.value);
  };
  const std::string torture = "host: {cpus: 2}\nworkload: {type: lock_torture, duration: 10ms}\n";
  const std::string dirty =
      "host: {cpus: 2}\nworkload: {type: dirty_log_perf_test, bytes_per_vcpu: 2MiB}\n";
  const std::string bench = "workload: {type: hackbench, groups: 1, fds: 3, loops: 5}\n";
  const auto livelocks = [&](const std::string& text, const std::vector<std::string>& sets) {
    INFO(text << sets[0]);
    CHECK_THROWS_AS(run(text, sets), sched::livelock);
    CHECK_THROWS_WITH(run(text, sets), Contains("livelock at ") && Contains("(switch_cost)"));
  };
  livelocks(torture, {"host.switch_cost=100ms"});
  livelocks(dirty, {"host.switch_cost=10ms"});
  livelocks(dirty, {"host.switch_cost=1s", "host.tick=100us"});
  livelocks(dirty, {"host.switch_cost=1s", "host.scheduler=eevdf"});
  livelocks(dirty, {"host.switch_cost=1s", "host.scheduler=credit"});
  livelocks(bench, {"guest.switch_cost=1s"});
  // Slow is not stuck.
  for (const std::string policy : {"cfs", "eevdf", "credit"}) {
    CHECK(run(torture, {"host.switch_cost=3900us", "host.scheduler=" + policy}).total_time.ps() >
          0);
    CHECK(run(dirty, {"host.switch_cost=3900us", "host.scheduler=" + policy}).faults > 0);
  }
  CHECK(run(bench, {"guest.switch_cost=3900us"}).total_time.ps() > 0);
}
