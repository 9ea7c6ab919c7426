// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>

#include "sample.hpp"
#include "sim/report/metrics.hpp"
#include "sim/report/render.hpp"
#include "sim/report/table.hpp"

using namespace hvsim;

TEST_CASE("the text of a run has the tables that users know", "[report]") {
  // Shares by hand: 30 of 40 us; waits 6 us over 4 waiters; exits 6 of 8 us, 3 of 4 samples,
  // 6 us / 3; breakdown 20 of 80 us.
  const std::string expected =
      R"(Test iterations: 1, interval: 10 (ms)
Populate memory time: 0.000030000s

Simulated: linux-5.18-rc2 on unit, 1 vCPU, placement compact, seed 7

Phases (virtual time)
  phase             time   share
  populate  0.000030000s  75.00%
  dirty1    0.000010000s  25.00%
  total     0.000040000s

Lock contention
   contended   total wait     max wait     avg wait       acquired     avg hold     max hold         type   caller

           4      6.00 us      3.00 us      1.50 us              6       700 ns       800 ns     rwlock:W   mmu_lock
           0         0 ps         0 ps         0 ps             10         0 ps       100 ns     rwlock:R   mmu_lock

Analyze events for all VMs, all VCPUs:

             VM-EXIT    Samples  Samples%     Time%    Min Time    Max Time         Avg time

            DABT_LOW          3    75.00%    75.00%      1.23us      2.67us           2.00us
                 WFx          1    25.00%    25.00%      2.00us      2.00us           2.00us

Total Samples:4, Total events handled time:8.00us.

Fault latency
  faults     min    mean     p50      p90      p99    p99.9      max
       3  500 ns  700 ns  600 ns  1.00 us  1.00 us  1.00 us  1.00 us

Where 2 threads spent their time
  part           time     run  populate  dirty1
  trap   0.000020000s  25.00%    25.00%  25.00%
  guest  0.000060000s  75.00%    75.00%  75.00%
  total  0.000080000s

Counts by phase
  count              populate  dirty1
  fault.translation         2       0
  stage2.map                2       0
  fault.permission          0       1
)";
  CHECK(report::to_text(test::sample_result()) == expected);
}

TEST_CASE("a result without rows prints its own lines only", "[report]") {
  report::run_result r;
  r.text = {"hello"};
  CHECK(report::to_text(r) == "hello\n");
}

TEST_CASE("CSV is tidy and exact", "[report]") {
  const std::string csv = report::to_csv(test::sample_result(), "a,b");
  CHECK(report::csv_header() == "run,path,value,unit\n");
  CHECK(csv.find("\"a,b\",time.populate,0.000030000000,s\n") != std::string::npos);
  CHECK(csv.find("\"a,b\",table_bytes,8192,B\n") != std::string::npos);
  CHECK(csv.find("\"a,b\",lock.mmu_lock.acquisitions,16,1\n") != std::string::npos);
  CHECK(csv.find("\"a,b\",lock.mmu_lock.rwlock:W.avg_wait,0.000001500000,s\n") !=
        std::string::npos);
}

TEST_CASE("a count is zero in a phase that lacks it and unknown in none", "[report]") {
  const auto all = report::metrics(test::sample_result());
  REQUIRE(report::find_metric(all, "count.dirty1.stage2.map") != nullptr);
  CHECK(report::find_metric(all, "count.dirty1.stage2.map")->value == 0);
  CHECK(report::find_metric(all, "count.stage2.map")->value == 2);
  CHECK(report::find_metric(all, "breakdown.populate.trap")->value == 15'000'000);
  CHECK(report::find_metric(all, "phase.dirty1")->value == 10'000'000);
  CHECK(report::find_metric(all, "exit.WFx.samples")->value == 1);
  CHECK(report::find_metric(all, "count.stage2.unmap") == nullptr);
}

TEST_CASE("metric paths are unique", "[report]") {
  auto all = report::metrics(test::sample_result());
  std::vector<std::string> paths;
  for (const auto& m : all) paths.push_back(m.path);
  std::sort(paths.begin(), paths.end());
  CHECK(std::adjacent_find(paths.begin(), paths.end()) == paths.end());
}

TEST_CASE("one table prints as text, Markdown and CSV", "[report]") {
  report::table t({{"name", report::align::left}, {"n"}});
  t.add({"a|b", "1"});
  t.add({"long \"name\"", "100"});
  t.add({"x"});
  CHECK(t.to_text(1) ==
        " name           n\n"
        " a|b            1\n"
        " long \"name\"  100\n"
        " x\n");
  CHECK(t.to_markdown() ==
        "| name | n |\n"
        "| :-- | --: |\n"
        "| a\\|b | 1 |\n"
        "| long \"name\" | 100 |\n"
        "| x |  |\n");
  CHECK(t.to_csv() == "name,n\na|b,1\n\"long \"\"name\"\"\",100\nx,\n");
  CHECK_THROWS_AS(t.add({"1", "2", "3"}), std::logic_error);
}
