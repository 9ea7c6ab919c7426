// SPDX-License-Identifier: Apache-2.0
// Figures of things that did not happen.
#include <catch2/catch.hpp>

#include "program.hpp"

using namespace hvsim;
using Catch::Matchers::Contains;

TEST_CASE("what never happened is 0, what cannot happen is an error", "[tools]") {
  const test::scratch dir;
  const std::string never = dir.file("never.yaml", test::small_scenario(R"(expect:
  - {what: "count.fault none DW other L0", equals: 0}
  - {what: "count.populate.event s2_map_ret=-12", equals: 0}
  - {what: lock.mmu_lock.spinlock.acquisitions, equals: 0}
  - {what: lock.call_rcu.rcu.acquisitions, equals: 0}
  - {what: breakdown.startup_offset, equals: 0}
  - {what: exit.IABT_LOW.samples, min: 0}
)"));
  const test::ended e = test::hvsim("check " + never);
  INFO(e.out << e.err);
  CHECK(e.code == 0);
  CHECK_THAT(e.out, Contains("6 ok"));
  for (const char* what : {"count.fault none DW othr L0", "count.populated.event s2_map_ret=-11",
                           "lock.mmulock.contended", "lock.mmu_lock.mutex.contended",
                           "breakdown.nothing", "exit.HVC.samples"}) {
    const std::string unknown = dir.file(
        "unknown.yaml",
        test::small_scenario("expect: [{what: '" + std::string(what) + "', equals: 0}]\n"));
    const test::ended wrong = test::hvsim("check " + unknown);
    INFO(what << "\n" << wrong.out);
    CHECK(wrong.code == 78);
    CHECK_THAT(wrong.out, Contains("no metric '" + std::string(what) + "'"));
  }
}

TEST_CASE("a file that is named twice is checked once", "[tools]") {
  const test::scratch dir;
  const std::string file =
      dir.file("s.yaml", test::small_scenario("expect: [{what: faults, min: 1}]\n"));
  const std::string folder = dir.path().string();
  for (const std::string& twice :
       {file + " " + file, folder + " " + file, file + " " + folder + "/./s.yaml"}) {
    const test::ended e = test::hvsim("check " + twice);
    INFO(e.out << e.err);
    CHECK(e.code == 0);
    CHECK_THAT(e.out, Contains("\n1 ok, 0 missed, 0 broken"));
  }
}
