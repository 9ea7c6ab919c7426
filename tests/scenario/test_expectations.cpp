// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "sim/scenario/expect.hpp"
#include "sim/scenario/parse.hpp"
#include "sim/scenario/render.hpp"
#include "small_catalogue.hpp"

using namespace hvsim;
using scenario::dimension;

TEST_CASE("expectations of every form are read", "[scenario][expect]") {
  auto result = scenario::parse_text(R"(schema_version: 1
machine: unit
workload: {type: touch, pages: 4}
expect:
  - {what: faults, equals: 4}
  - {what: time.dirty1, value: 1.5ms, tolerance: 2%, name: pass one}
  - {what: fault_latency.p99, max: 20us}
  - {what: count.dirty1.fault, min: 3, max: 5}
  - {what: time.dirty1, ratio_to: time.populate, min: 0.5}
  - what: time.dirty1
    over: {hypervisor.kernel: linux-a}
    against: {hypervisor.kernel: linux-b, vm.vcpus: 2}
    min: 2.0
  - {what: fingerprint, equals: 0x12ab}
)",
                                     "e.yaml", test::small_catalogue());
  INFO(scenario::to_text(result.errors, result.sources));
  REQUIRE(result);
  const auto& all = result.value->expectations;
  REQUIRE(all.size() == 7);
  CHECK(all[0].equals->integer == 4);
  CHECK(all[0].equals->what == dimension::count);
  CHECK(all[0].name == "faults");
  CHECK(all[1].value->integer == 1'500'000'000);
  CHECK(all[1].tolerance_ppm == 20'000);
  CHECK(all[1].name == "pass one");
  CHECK(all[1].where.line == 6);
  CHECK(all[1].where.column == 5);
  CHECK(all[2].max->integer == 20'000'000);
  CHECK(all[3].min->integer == 3);
  CHECK(all[4].ratio_to == "time.populate");
  CHECK(all[4].min->what == dimension::ratio);
  CHECK(all[4].min->real == 0.5);
  CHECK(all[5].is_ratio());
  CHECK(all[5].over == scenario::overrides{{"hypervisor.kernel", "linux-a"}});
  CHECK(all[5].against == scenario::overrides{{"hypervisor.kernel", "linux-b"}, {"vm.vcpus", "2"}});
  CHECK(all[6].equals->text == "0x12ab");
}

TEST_CASE("selectors know what they measure", "[scenario][expect]") {
  auto measures = [](const char* selector) { return scenario::check_selector(selector).what; };
  CHECK(measures("total_time") == dimension::time);
  CHECK(measures("time.populate") == dimension::time);
  CHECK(measures("breakdown.tlbi") == dimension::time);
  CHECK(measures("breakdown.dirty1.tlbi") == dimension::time);
  CHECK(measures("lock.mmu_lock.contended") == dimension::count);
  CHECK(measures("lock.mmu_lock.rwlock:R.max_wait") == dimension::time);
  CHECK(measures("exit.DABT_LOW.samples") == dimension::count);
  CHECK(measures("fault_latency.count") == dimension::count);
  CHECK(measures("fingerprint") == dimension::text);
  for (const char* bad : {"", "time", "time.", "time.a.b", "count", "count.a.b.c", "lock.mmu_lock",
                          "lock.mmu_lock.held", "faults.a", "latency", "."}) {
    INFO(bad);
    CHECK_FALSE(measures(bad));
  }
}
