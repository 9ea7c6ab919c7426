// SPDX-License-Identifier: Apache-2.0
// Pipes and FIFOs wherever a file is read, and what is no file.
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <vector>

#include "program.hpp"

using namespace hvsim;
using Catch::Matchers::Contains;
using test::small_scenario;

namespace {

const std::string expecting = small_scenario("expect: [{what: faults, min: 1}]\n");

void succeeds(const std::string& line, const std::string& phrase) {
  const test::ended e = test::shell(line);
  INFO(line << "\n" << e.out << e.err);
  CHECK(e.code == 0);
  CHECK_THAT(e.out, Contains(phrase));
}

}  // namespace

TEST_CASE("a pipe is read once, by every subcommand that reads a scenario", "[tools]") {
  const test::scratch dir;
  const std::string file = dir.file("s.yaml", expecting);
  const std::string program = "'" HVSIM_PROGRAM "' ";
  const std::vector<std::pair<std::string, std::string>> commands = {
      {"validate", ": ok"}, {"run", "Populate memory time"}, {"check", "1 ok, 0 missed"}};
  for (const auto& [command, phrase] : commands) {
    succeeds(program + command + " <(cat " + file + ")", phrase);
    succeeds("cat " + file + " | " + program + command + " -", phrase);
    succeeds("cat " + file + " | " + program + command + " /dev/stdin", phrase);
    const std::string fifo = dir.at(command + ".fifo");
    REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
    // The writer comes late.
    succeeds("(sleep 0.3; timeout 60 bash -c 'cat " + file + " >" + fifo + "') & " + program +
                 command + " " + fifo,
             phrase);
  }
  // Each cell loads the scenario.
  succeeds(program + "compare <(cat " + file + ") --vary vm.vcpus=1,2 --metric faults", "first /");
}

TEST_CASE("a baseline and a trace may be pipes", "[tools]") {
  const test::scratch dir;
  const std::string file = dir.file("s.yaml", small_scenario());
  const std::string program = "'" HVSIM_PROGRAM "' ";
  const std::string compare = program + "compare " + file + " --vary vm.vcpus=1,2";
  REQUIRE(test::shell(compare + " --save " + dir.at("b.json")).code == 0);
  succeeds(program + "compare " + file + " --baseline <(cat " + dir.at("b.json") + ")",
           "no deviation from the baseline");

  const std::string trace = "examples/trace-replay --format csv";
  const test::ended from_file = test::hvsim("run " + trace);
  REQUIRE(from_file.code == 0);
  const std::string source = "configs/examples/trace-replay.trace";
  succeeds(program + "run " + trace + " --set workload.file=<(cat " + source + ")", from_file.out);
  // Two runs at a time of one stream.
  succeeds(program + "compare " + trace + " --jobs 2 --vary seed=1,2 --metric accesses" +
               " --set workload.file=<(cat " + source + ")",
           "accesses");
}

TEST_CASE("what is neither file nor pipe is named and refused with 66", "[tools]") {
  const test::scratch dir;
  const std::string file = dir.file("s.yaml", expecting);
  const std::string trace = "examples/trace-replay --set workload.file=";
  const auto refused = [](const std::string& arguments, const std::string& phrase) {
    const test::ended e = test::hvsim(arguments);
    INFO(arguments << "\n" << e.out << e.err);
    CHECK(e.code == 66);
    CHECK_THAT(e.out + e.err, Contains(phrase));
  };
  for (const char* command : {"run", "validate", "compare", "check"})
    refused(std::string(command) + " /dev/zero", "/dev/zero: error: is a device");
  refused("compare " + file + " --baseline /dev/null", "/dev/null: error: is a device");
  refused("compare " + file + " --baseline " + dir.path().string(), "is a directory");
  refused("run " + trace + "/dev/null", "is a device; expected a file or a pipe: /dev/null");
  refused("run " + trace + dir.path().string(), "is a directory");
}

TEST_CASE("standard input that is closed cannot be read", "[tools]") {
  for (const char* command : {"run -", "check -", "compare -", "validate -"}) {
    const test::ended e = test::shell("exec '" HVSIM_PROGRAM "' " + std::string(command) + " <&-");
    INFO(command << "\n" << e.out << e.err);
    CHECK(e.code == 66);
    CHECK_THAT(e.out + e.err, Contains("<stdin>: error: it is closed"));
  }
  // Nor if it can be written only.
  CHECK(test::shell("exec '" HVSIM_PROGRAM "' run - 0>/dev/null").code == 66);
}

TEST_CASE("results do not end in an output file that got the number of a closed stream",
          "[tools]") {
  const test::scratch dir;
  const std::string file = dir.file("s.yaml", small_scenario());
  const std::string run = "exec '" HVSIM_PROGRAM "' run " + file + " --ftrace ";
  REQUIRE(test::shell(run + dir.at("open.trace")).code == 0);
  CHECK(test::shell(run + dir.at("closed.trace") + " >&-").code == 74);
  CHECK(test::content_of(dir.at("closed.trace")) == test::content_of(dir.at("open.trace")));
}

TEST_CASE("standard input without an end is refused for its size", "[tools]") {
  const test::ended e = test::shell("'" HVSIM_PROGRAM "' run - </dev/zero");
  INFO(e.err);
  CHECK(e.code == 78);
  CHECK_THAT(e.err, Contains("<stdin>:1:1: error: the file is larger than"));
}

TEST_CASE("SIGINT ends the wait for a pipe that gives nothing", "[tools]") {
  const test::scratch dir;
  const std::string fifo = dir.at("fifo");
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  for (const std::string& arguments :
       {"run " + fifo, "run examples/trace-replay --set workload.file=" + fifo,
        std::string("validate - < <(sleep 100)")}) {
    const test::ended e = test::hvsim(arguments, 0.5);
    INFO(arguments << "\n" << e.out << e.err);
    CHECK(e.code == 130);
  }
}
