// SPDX-License-Identifier: Apache-2.0
// Files that the program writes, and what stands in their way.
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <set>
#include <vector>

#include "program.hpp"

using namespace hvsim;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

TEST_CASE("an output that cannot be is refused before anything runs", "[tools]") {
  const test::scratch dir;
  const std::string run = dir.file("run.yaml", test::small_scenario());
  const std::string check =
      dir.file("check.yaml", test::small_scenario("expect: [{what: faults, min: 1}]\n"));
  dir.file("plain", "");
  // The whole comparison at full size would take minutes.
  const std::string reproduce = "reproduce stage2-parallel-faults -o ";
  const std::set<std::string> before = {"check.yaml", "plain", "run.yaml"};
  for (const std::string& command :
       {"run " + run + " -o ", "run " + run + " --ftrace ", "check " + check + " --junit ",
        "compare " + run + " --save ", reproduce}) {
    for (const std::string& name : {dir.at("plain/below"), std::string("/proc/none/x")}) {
      const test::ended e = test::hvsim(command + name);
      INFO(command + name << e.err);
      CHECK(e.code == 74);
      CHECK(e.out.empty());
      CHECK_THAT(e.err, Contains("cannot write"));
    }
    const test::ended empty = test::hvsim(command + "''");
    INFO(command << empty.err);
    CHECK(empty.code == 2);
    CHECK_THAT(empty.err, Contains("the value is empty"));
  }
  std::set<std::string> after;
  for (const auto& entry : fs::directory_iterator(dir.path()))
    after.insert(entry.path().filename().string());
  CHECK(after == before);
}

TEST_CASE("a device is written into and never replaced", "[tools]") {
  const test::scratch dir;
  const std::string run = dir.file("run.yaml", test::small_scenario());
  CHECK(test::hvsim("run " + run + " --ftrace /dev/null").code == 0);
  CHECK(fs::is_character_file("/dev/null"));
  const test::ended full = test::hvsim("run " + run + " --ftrace /dev/full");
  CHECK(full.code == 74);
  CHECK_THAT(full.err, Contains("No space left"));
  const test::ended both = test::hvsim("run " + run + " --ftrace /dev/stdout");
  CHECK(both.code == 0);
  CHECK_THAT(both.out, Contains("kvm_guest_fault:") && Contains("Populate memory time"));
}

TEST_CASE("standard output that takes nothing is an output error", "[tools]") {
  const test::scratch dir;
  const std::string run = dir.file("run.yaml", test::small_scenario());
  const std::vector<std::string> commands = {
      "run " + run,      "list presets",        "version", "validate " + run, "schema",
      "completion bash", "check examples/zipf", "--help",  "run --help"};
  for (const char* where : {" >&-", " >/dev/full"})
    for (const std::string& command : commands) {
      INFO(command + where);
      CHECK(test::hvsim(command + where).code == 74);
    }
}
