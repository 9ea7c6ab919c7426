// SPDX-License-Identifier: Apache-2.0
// The exit codes of docs/results-and-ci.md, in every subcommand alike.
#include <catch2/catch.hpp>

#include "program.hpp"

using namespace hvsim;
using Catch::Matchers::Contains;
using test::small_scenario;

namespace {

constexpr const char* missing_trace =
    "schema_version: 1\nmachine: unit\nworkload: {type: trace, file: none.trace}\n"
    "expect: [{what: faults, min: 0}]\n";

void check_code(const std::string& arguments, int code, const std::string& phrase = "") {
  const test::ended e = test::hvsim(arguments);
  INFO(arguments << "\n" << e.out << e.err);
  CHECK(e.code == code);
  CHECK_THAT(e.out + e.err, Contains(phrase));
}

}  // namespace

TEST_CASE("what is missing ends in 66 in every subcommand", "[tools]") {
  const test::scratch dir;
  const std::string trace = dir.file("trace.yaml", missing_trace);
  const std::string profile =
      dir.file("profile.yaml",
               "schema_version: 1\nmachine: none.yaml\nworkload: dirty_log_perf_test\n"
               "expect: [{what: faults, min: 0}]\n");
  for (const std::string& file : {dir.at("none.yaml"), profile, trace})
    for (const char* command : {"run", "check", "compare"})
      check_code(std::string(command) + " " + file, 66, "none");
  check_code("validate " + dir.at("none.yaml"), 66, "no such file");
  check_code("validate " + profile, 66, "none.yaml");
  check_code("reproduce none --no-files", 66,
             "known: native-qspinlock-kernel-build, pv-qspinlock-kernel-build, pv-qspinlock-reaim");
  check_code("reproduce examples/zipf --no-files", 66, "unknown published comparison");
  check_code("compare examples/zipf --baseline " + dir.at("none.json"), 66, "no such file");
}

TEST_CASE("what is wrong in a file ends in 78, a miss in 1", "[tools]") {
  const test::scratch dir;
  const std::string wrong = dir.file("wrong.yaml", "schema_version: 1\n");
  for (const char* command : {"run", "check", "compare", "validate"})
    check_code(std::string(command) + " " + wrong, 78, "required key is missing");
  const std::string miss =
      dir.file("miss.yaml", small_scenario("expect: [{what: faults, max: 0}]\n"));
  check_code("check " + miss, 1, "1 missed");
  check_code("check " + miss + " " + wrong, 78, "1 missed, 1 broken");
  const std::string changes = dir.file(
      "changes.yaml",
      small_scenario("expect: [{what: faults, over: {vm.vcpus: 500}, against: {vm.vcpus: 1}, "
                     "min: 1}]\n"));
  check_code("check " + changes, 78, "changes.yaml:5:");
  const std::string bad_trace =
      dir.file("bad.yaml",
               "schema_version: 1\nmachine: unit\nworkload: {type: trace, file: bad.trace}\n"
               "expect: [{what: faults, min: 0}]\n");
  dir.file("bad.trace", "no header\n");
  for (const char* command : {"run", "check", "compare"})
    check_code(std::string(command) + " " + bad_trace, 65, "expected the header");
}

TEST_CASE("what is wrong on the command line ends in 2", "[tools]") {
  const std::string zipf = "examples/zipf";
  for (const char* command : {"run", "check", "compare", "validate"}) {
    check_code(std::string(command) + " " + zipf + " --set nonsense", 2,
               "--set: 'nonsense' is not of the form");
    check_code(std::string(command) + " " + zipf + " --set vm.vcpu=1", 2, "did you mean 'vcpus'?");
    check_code(std::string(command) + " " + zipf + " --set vm.vcpus=500", 2, "impossible");
  }
  for (const char* command : {"run", "check", "compare", "validate", "reproduce"})
    check_code(std::string(command) + " ''", 2, "name is empty");
  check_code("run examples/zipf --seed ''", 2, "--seed: the value is empty");
  check_code("run examples/zipf --seed x", 2, "--seed: error: seed: expected a whole number");
  check_code("compare examples/zipf --vary vm.vcpus=1,x", 2, "--vary: error: vm.vcpus");
  check_code("compare examples/zipf --vary vm.vcpus", 2, "--vary 'vm.vcpus'");
  check_code("compare examples/zipf --vary vm.vcpus=1,1", 2, "value '1' twice");
  check_code("compare examples/zipf --vary vm.vcpus=1,0x1", 2, "are the same run");
  check_code("compare examples/zipf --vary vm.vcpus=1,2 --set vm.vcpus=4", 2, "--vary gives");
  check_code("compare examples/zipf --metric fingerprint", 2, "known: total_time");
  check_code("compare examples/zipf --metric fop", 2, "known: total_time");
  check_code("compare examples/zipf --metric time.nothing", 2, "no metric 'time.nothing'");
  const std::string reproduce = "reproduce stage2-parallel-faults --no-files ";
  check_code(reproduce + "--placement compact,compact", 2, "'compact' twice");
  check_code(reproduce + "--placement compac", 2, "did you mean 'compact'? known: compact, spread");
  check_code(reproduce + "--scale 3", 2, "--scale: 3 does not divide 4GiB");
  check_code(reproduce + "--scale 1048576", 2, "--scale: error: workload.bytes_per_vcpu");
  check_code("calibrate --cost none", 2, "--cost: unknown cost 'none'");
  check_code("calibrate --table none", 2, "--table: unknown table 'none'");
  check_code("calibrate --placement none", 2, "--placement: unknown placement 'none'");
  check_code(reproduce + "--table none", 2, "unknown table 'none'");
  check_code(reproduce + "--set vm.vcpus=3", 2, "gives 'vm.vcpus' values of its own");
  check_code(reproduce + "--set vm.vcpu=3", 2, "--set: error");
}

TEST_CASE("names of built-in files work wherever files do", "[tools]") {
  check_code("validate examples/zipf published/stage2-parallel-faults machines/unit", 0, "ok");
  check_code("check examples/zipf", 0, "1 ok, 0 missed");
  check_code("check configs/none", 66, "no such file");
}

TEST_CASE("a folder that cannot be read is a clean error", "[tools]") {
  if (::geteuid() == 0) return;  // root reads everything
  const test::scratch dir;
  dir.file("closed/a.yaml", small_scenario());
  std::filesystem::permissions(dir.path() / "closed", std::filesystem::perms::none);
  for (const char* command : {"check", "validate"})
    check_code(std::string(command) + " " + dir.at("closed"), 66, "cannot be read");
  std::filesystem::permissions(dir.path() / "closed", std::filesystem::perms::owner_all);
}
