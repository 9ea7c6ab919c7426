// SPDX-License-Identifier: Apache-2.0
// The synthetic workload: what it does, and its complaints.
#include "streams.hpp"

using namespace hvsim;

namespace {

std::string complaints(const std::string& text) {
  const auto parsed = scenario::parse_text(text, "s.yaml", simulate::catalogue());
  std::string out;
  for (const auto& d : parsed.errors) out += scenario::to_line(d) + "\n";
  return out;
}

}  // namespace

TEST_CASE("a synthetic stream does what it says", "[stream]") {
  const auto r = experiment::run(test::good(R"(schema_version: 1
machine: unit
vm: {vcpus: 2}
workload:
  type: synthetic
  memory: 1MiB
  logging: write_protect
  regions: [{name: low, size: 64KiB}]
  phases:
    - name: fill
      steps: [{write: 100}]
    - name: pass
      log: enable
      steps: [{region: low, write: 100}, {region: low}]
    - name: again
      log: clear
      repeat: 2
      steps: [{region: low, write: 100, vcpus: [1]}]
)"));
  // fill 2 x 256 pages; pass 2 x (16 + 16); again 2 x 16.
  CHECK(r.accesses == 512 + 64 + 32);
  // One fault for each page: 16 of each vCPU, then those of vCPU 1 after each GET.
  CHECK(test::count_of(r, "pass", "fault test DW perm L3") == 32);
  CHECK(test::count_of(r, "again1", "fault test DW perm L3") == 16);
  CHECK(test::count_of(r, "again2", "fault test DW perm L3") == 16);
  for (const char* key : {"fill", "pass_enable", "pass", "again1_get", "again1", "again2_get"})
    CHECK(report::find_time(r, key).has_value());
  CHECK_FALSE(report::find_time(r, "again1_clear").has_value());
}

TEST_CASE("vCPUs of a shared memory meet at its pages", "[stream]") {
  const auto run = [](const char* sharing) {
    return experiment::run(
        test::good(std::string("schema_version: 1\nmachine: unit\nvm: {vcpus: 4}\n"
                               "workload: {type: synthetic, memory: 1MiB, sharing: ") +
                   sharing + ", phases: [{name: p, steps: [{write: 100}]}]}\n"));
  };
  CHECK(run("private").guest_pages == 1024);
  CHECK(run("shared").guest_pages == 256);
  CHECK(run("private").accesses == run("shared").accesses);
}

TEST_CASE("fetches need no more than memory", "[stream]") {
  const auto r = experiment::run(test::good(
      "schema_version: 1\nmachine: unit\nvm: {vcpus: 1}\nworkload: {type: synthetic, memory: 64KiB,"
      " phases: [{name: p, steps: [{execute: 100}]}]}\n"));
  // Sixteen pages; the first walk finds nothing at level 0, the others at level 3.
  CHECK(test::count_of(r, "p", "fault test Ix trans L0") +
            test::count_of(r, "p", "fault test Ix trans L1") +
            test::count_of(r, "p", "fault test Ix trans L2") +
            test::count_of(r, "p", "fault test Ix trans L3") ==
        16);
}

TEST_CASE("complaints about a synthetic stream have positions", "[stream]") {
  const std::string head =
      "schema_version: 1\nmachine: unit\nvm: {vcpus: 2}\nworkload:\n  type: synthetic\n"
      "  memory: 1MiB\n  regions:\n    - {name: heap, size: 64KiB}\n";
  const auto with = [&](const std::string& rest) { return complaints(head + rest); };
  CHECK(with("  phases: [{name: p, steps: [{region: heep}]}]\n") ==
        "s.yaml:9:39: error: workload.phases[0].steps[0].region: unknown region 'heep'; did you "
        "mean 'heap'? known: memory, heap\n");
  CHECK(with("    - {name: tail, offset: 1020KiB, size: 8KiB}\n"
             "  phases: [{name: p, steps: [{region: tail}]}]\n") ==
        "s.yaml:9:43: error: workload.regions[1].size: the region ends at 1028KiB, beyond "
        "workload.memory of 1MiB for each vCPU\n");
  CHECK(with("  phases: [{name: p, steps: [{read: 50, write: 60}]}]\n") ==
        "s.yaml:9:37: error: workload.phases[0].steps[0].read: read, write and execute add up to "
        "110 %; expected 100 %\n");
  CHECK(with("  phases: [{name: p, steps: [{vcpus: [0, 2]}]}]\n") ==
        "s.yaml:9:42: error: workload.phases[0].steps[0].vcpus: expected a vCPU from 0 to 1; got "
        "'2'\n");
  CHECK(with("  phases: [{name: p, log: clear, steps: [{}]}]\n") ==
        "s.yaml:9:27: error: workload.phases[0].log: the dirty log is not enabled; expected a "
        "phase with 'enable' before\n");
  CHECK(
      with("  phases: [{name: p, steps: [{strid: 64B}]}]\n")
          .find(
              "s.yaml:9:31: error: workload.phases[0].steps[0].strid: unknown key 'strid'; did you "
              "mean 'stride'?") == 0);
  CHECK(with("  phases: [{name: p1, steps: [{}]}, {name: p, repeat: 2, steps: [{}]}]\n") ==
        "s.yaml:9:44: error: workload.phases[1].name: there is a phase 'p1' already\n");
  CHECK(with("  phases: 7\n")
            .find("s.yaml:9:11: error: workload.phases: expected a mapping or a "
                  "list; got '7'") == 0);
  CHECK(with("  memslots: 3\n  phases: [{name: p, steps: [{}]}]\n") ==
        "s.yaml:6:3: error: workload.memory: 2MiB of test memory cannot be cut into 3 memslots of "
        "whole 4KiB pages; expected a multiple of 12KiB\n");
}

TEST_CASE("progress comes to its end", "[stream]") {
  experiment::run_options o;
  double last = 0;
  std::uint64_t calls = 0;
  o.progress = [&](double fraction) {
    CHECK(fraction >= last);
    CHECK(fraction <= 1);
    last = fraction;
    ++calls;
  };
  // Contended faults switch fibers often enough for the heartbeat.
  experiment::run(
      test::good("schema_version: 1\nmachine: unit\nvm: {vcpus: 16}\nworkload: {type: synthetic,"
                 " memory: 32MiB, sharing: shared, phases: [{name: p, repeat: 3, steps: "
                 "[{write: 100}]}]}\n"),
      o);
  CHECK(calls > 0);
}
