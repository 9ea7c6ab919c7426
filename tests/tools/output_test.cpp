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

TEST_CASE("a trace that finds no room costs no results", "[tools]") {
  const test::scratch dir;
  const std::string run = dir.file("run.yaml", test::small_scenario());
  const std::string expected = test::hvsim("run " + run).out;
  const test::ended device = test::hvsim("run " + run + " --ftrace /dev/full -o " + dir.at("o"));
  CHECK(device.code == 74);
  CHECK(device.out == expected);
  CHECK_THAT(device.err, Contains("cannot write /dev/full: No space left"));
  CHECK(fs::exists(dir.at("o/run.json")));
  // The first size fails when the run has ended, the second one while it goes on.
  for (const std::string size : {"2MiB", "256MiB"}) {
    const std::string sized = "run " + run + " --set workload.bytes_per_vcpu=" + size;
    const test::ended file = test::shell("ulimit -f 64; exec '" HVSIM_PROGRAM "' " + sized +
                                         " --ftrace " + dir.at("x.trace"));
    INFO(size << "\n" << file.err);
    CHECK(file.code == 74);
    CHECK(file.out == test::hvsim(sized).out);
    CHECK_THAT(file.err, Contains("cannot write " + dir.at("x.trace") + ": File too large"));
    CHECK_FALSE(fs::exists(dir.at("x.trace")));
  }
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

TEST_CASE("outputs that are in each other's way are a usage error, and nothing runs", "[tools]") {
  const test::scratch dir;
  const std::string run = dir.file("x.yaml", test::small_scenario());
  const std::string out = dir.at("o");
  const std::string odd = dir.at("./p/../o");
  for (const std::string& ftrace : {out + "/x.json", out + "/x.csv", out + "/x.txt", out,
                                    out + "/x.json/below", odd + "/x.json"}) {
    const test::ended e = test::hvsim("run " + run + " --ftrace " + ftrace + " -o " + out);
    INFO(ftrace << "\n" << e.err);
    CHECK(e.code == 2);
    CHECK(e.out.empty());
    CHECK_THAT(e.err, Contains("in each other's way") && Contains("--ftrace") && Contains("-o"));
  }
  CHECK_FALSE(fs::exists(out));
  CHECK(test::hvsim("run " + run + " --ftrace " + out + "/x.ft -o " + out).code == 0);
  for (const char* name : {"x.ft", "x.json", "x.csv", "x.txt"}) CHECK(fs::exists(out + "/" + name));
}

TEST_CASE("outputs never replace the trace or the profile of a run", "[tools]") {
  const test::scratch dir;
  const std::string trace = dir.file("t.txt", "# hvsim-trace 1\n0 0 W mem:0 8\n");
  dir.file("m.yaml", test::content_of(HVSIM_SOURCE_DIR "/configs/machines/unit.yaml"));
  const std::string run = dir.file(
      "t.yaml",
      "schema_version: 1\nmachine: m.yaml\nworkload: {type: trace, file: t.txt, memory: 4MiB}\n");
  for (const std::string& options : {" -o " + dir.path().string(), " --ftrace " + dir.at("t.txt"),
                                     " --ftrace " + dir.at("m.yaml"), " --ftrace " + run}) {
    const test::ended e = test::hvsim("run " + run + options);
    INFO(options << "\n" << e.err);
    CHECK(e.code == 2);
    CHECK_THAT(e.err, Contains("would overwrite"));
  }
  CHECK(test::content_of(trace).starts_with("# hvsim-trace 1"));
}
