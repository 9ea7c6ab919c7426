// SPDX-License-Identifier: Apache-2.0
// SIGINT, SIGTERM and SIGHUP end every kind of work with 128 and their number, and keep what is
// finished. How soon is not asserted, since machines are loaded; what never answers runs into the
// time limit of the test.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "program.hpp"

using namespace hvsim;
using Catch::Matchers::Contains;

namespace {

test::ended interrupted(const std::string& arguments, double after = 1, int signal = SIGINT) {
  const test::ended e = test::hvsim(arguments, after, signal);
  INFO(arguments << "\n" << e.out << e.err << e.seconds);
  CHECK(e.code == 128 + signal);
  return e;
}

const std::string large_run = "run published/scenarios/stage2-parallel-faults --set vm.vcpus=48";

std::size_t files_in(const test::scratch& dir) {
  const auto at = std::filesystem::directory_iterator(dir.path());
  return static_cast<std::size_t>(std::distance(begin(at), end(at)));
}

}  // namespace

TEST_CASE("SIGINT stops a run", "[tools]") {
  interrupted(large_run);
}

TEST_CASE("SIGTERM and SIGHUP stop a run as SIGINT does, and no temporary file stays", "[tools]") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const test::scratch dir;
    interrupted(large_run + " --ftrace " + dir.at("faults"), 1, signal);
    CHECK(files_in(dir) == 0);
  }
}

TEST_CASE("a second signal ends the program at once, and no temporary file stays", "[tools]") {
  // Both signals are there before the first one can end the run.
  const test::scratch dir;
  const test::ended e =
      test::shell(":; '" HVSIM_PROGRAM "' " + large_run + " --ftrace " + dir.at("faults") +
                  " & sleep 1; kill -STOP $!; kill -TERM $!; kill -HUP $!; kill -CONT $!; wait $!");
  CHECK((e.code == 129 || e.code == 143));
  CHECK(files_in(dir) == 0);
}

TEST_CASE("SIGHUP that was set aside stays so", "[tools]") {
  const test::scratch dir;
  const std::string file = dir.file("s.yaml", test::small_scenario());
  // The program waits for the FIFO when the signal comes.
  const test::ended e =
      test::shell("trap '' HUP; mkfifo " + dir.at("fifo") + "; '" HVSIM_PROGRAM "' run " +
                  dir.at("fifo") + " & sleep 0.5; kill -HUP $!; timeout 60 bash -c 'cat " + file +
                  " >" + dir.at("fifo") + "'; wait $!");
  INFO(e.err);
  CHECK(e.code == 0);
  CHECK_THAT(e.out, Contains("Populate memory time"));
}

TEST_CASE("SIGTERM keeps the finished cells of a comparison", "[tools]") {
  const test::scratch dir;
  const test::ended e = interrupted(
      "compare published/scenarios/stage2-parallel-faults --jobs 1 --set vm.vcpus=48 "
      "--metric total_time --vary workload.bytes_per_vcpu=2MiB,4GiB --save " +
          dir.at("c.json"),
      2, SIGTERM);
  CHECK_THAT(e.out, Contains("2MiB") && Contains("s ") && Contains("-"));
  CHECK(std::filesystem::exists(dir.at("c.json.incomplete")));
}

TEST_CASE("SIGINT stops the setup of a huge guest", "[tools]") {
  // The run itself would take hours.
  const test::scratch dir;
  interrupted("run " + dir.file("huge.yaml", R"(schema_version: 1
machine: unit
workload:
  {type: synthetic, memory: 1TiB, sharing: shared, backing: anonymous_hugetlb_2mb,
   phases: [{name: p, steps: [{pattern: random, count: 1000000000000}]}]}
)"),
              0.3);
}

TEST_CASE("SIGINT stops a benchmark and keeps the rows that are done", "[tools]") {
  const test::ended e = interrupted("bench --format csv --bytes-per-vcpu 2MiB --jobs 1", 2);
  CHECK_THAT(e.out, Contains("benchmark,value,unit\nfaults_per_second_48_rc2,"));
  CHECK_THAT(e.out, !Contains("grid_wall"));
  const auto json = nlohmann::json::parse(
      interrupted("bench --format json --bytes-per-vcpu 2MiB --jobs 1", 2).out);
  REQUIRE_FALSE(json["rows"].empty());
  CHECK(json["rows"][0]["benchmark"] == "faults_per_second_48_rc2");
  CHECK(json["rows"][0]["value"] > 0);
  CHECK(json["rows"][0]["unit"] == "1/s");
}

TEST_CASE("SIGINT keeps the finished cells of a comparison", "[tools]") {
  const test::ended e = interrupted(
      "compare published/scenarios/stage2-parallel-faults --jobs 1 --set vm.vcpus=48 "
      "--metric total_time --vary workload.bytes_per_vcpu=2MiB,4GiB",
      2);
  CHECK_THAT(e.out, Contains("2MiB") && Contains("s ") && Contains("-"));
}
