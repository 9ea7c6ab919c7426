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

TEST_CASE("what is wrong in a baseline is said of the baseline", "[tools]") {
  const test::scratch dir;
  const std::string file = dir.file("s.yaml", small_scenario());
  REQUIRE(test::hvsim("compare " + file + " --vary vm.vcpus=1,2 --metric faults --save " +
                      dir.at("good.json"))
              .code == 0);
  const std::string good = test::content_of(dir.at("good.json"));
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
    return dir.file("bad.json", text);
  };
  // Lines of what --save writes: an axis' key stands on line 7, its first value on line 9.
  const std::string compare = "compare " + file + " --baseline ";
  check_code(compare + changed("vm.vcpus", "vm.vcpuz"), 65,
             "bad.json:9:9: error: vm.vcpuz: unknown key 'vcpuz'; did you mean 'vcpus'?");
  check_code(compare + changed("\"2\"", "\"x\""), 65,
             "bad.json:10:9: error: vm.vcpus: expected a whole number; got 'x'");
  check_code(compare + changed("\"2\"", "\"0x1\""), 65, "bad.json:5:11: error: axes: ");
  check_code(compare + changed("\"faults\"", "\"fop\""), 65,
             "bad.json:15:5: error: metrics[0]: unknown selector 'fop'");
  check_code(compare + changed("\"faults\"", "\"time.none\""), 65,
             "bad.json:15:5: error: metrics[0]: the run has no metric 'time.none'; did you mean");
  check_code(compare + changed("\"axes\": [", "\"axes\": {"), 65, ": error: not JSON: ");
  check_code(compare + dir.at("good.json") + " --set vm.vcpus=4", 2, "good.json gives 'vm.vcpus'");
  // What the command line asks for is its own.
  check_code(compare + dir.at("good.json") + " --metric time.none", 2, "--metric: the run has no");
  check_code(compare + dir.at("good.json") + " --vary vm.vcpuz=1", 2, "--vary: error: vm.vcpuz");
  check_code(compare + dir.at("good.json") + " --save " + dir.at("good.json"), 2,
             "--save would overwrite");
}

TEST_CASE("a run that no computer holds is refused, and validate only warns", "[tools]") {
  // Sixteen TiB in pages of 4 KiB have 32 GiB of tables.
  const std::string huge =
      " published/scenarios/stage2-parallel-faults --set vm.vcpus=16 "
      "--set workload.bytes_per_vcpu=1TiB --set workload.backing=anonymous";
  check_code("run" + huge, 2, "--set: error: workload.bytes_per_vcpu: a run would hold 32.0 GiB");
  check_code("validate" + huge, 0, "workload.bytes_per_vcpu: a run would hold 32.0 GiB");
  check_code("run --print-config" + huge, 0, "bytes_per_vcpu: 1TiB");
}

TEST_CASE("a machine profile that is wrong is no scenario", "[tools]") {
  const test::scratch dir;
  const std::string unit = test::content_of(HVSIM_SOURCE_DIR "/configs/machines/unit.yaml");
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = unit;
    REQUIRE(text.find(from) != std::string::npos);
    return dir.file("m.yaml", text.replace(text.find(from), from.size(), to));
  };
  check_code("validate " + dir.file("m.yaml", unit), 0, "m.yaml: ok");
  check_code("validate " + changed("\ncosts:", "\ncost:"), 78, "did you mean 'costs'?");
  check_code("validate " + changed("\ntopology:", "\ntopologie:"), 78, "did you mean 'topology'?");
  check_code("validate " + dir.file("m.yaml", unit + "machine: again\n"), 78,
             "duplicate key 'machine'");
  for (const auto& [from, to] :
       {std::pair{"\ncosts:", "\ncost:"}, {"\ntopology:", "\nvm: 1\ntopology:"}}) {
    const test::ended e = test::hvsim("validate " + changed(from, to));
    CHECK_THAT(e.err, !Contains("workload"));
  }
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

TEST_CASE("only comparisons with stage-2 faults can be calibrated", "[tools]") {
  for (const char* name : {"pv-qspinlock-reaim", "pv-ticket-dbench", "pv-qspinlock-kernel-build",
                           "native-qspinlock-kernel-build"})
    check_code(std::string("calibrate ") + name, 2, "can be calibrated: stage2-parallel-faults\n");
  check_code("calibrate pv-qspinlock-reaim", 2, "its workload 'reaim' has none");
}

TEST_CASE("options that change nothing of a comparison are refused", "[tools]") {
  const std::string guest = "reproduce pv-qspinlock-reaim --no-files ";
  check_code(guest + "--scale 4", 2,
             "--scale: has no effect: no table of 'pv-qspinlock-reaim' names a size to divide");
  check_code(guest + "--seed-scale 4", 2, "--seed-scale: has no effect");
  check_code(guest + "--placement compact", 2,
             "--placement: has no effect: 'pv-qspinlock-reaim' has no placements");
  check_code(guest + "--seeds 3", 2,
             "--seeds: has no effect: a cell of 'pv-qspinlock-reaim' is "
             "the mean of 10 runs");
  check_code("reproduce stage2-parallel-faults --no-files --seed-scale 4", 2,
             "--seed-scale: has no effect without --seeds");
  check_code("run examples/lock-torture --ftrace /dev/null", 2,
             "--ftrace: the workload 'lock_torture' has no stage-2 faults");
}

TEST_CASE("a limit of address space is told from a lack of memory", "[tools]") {
  const test::scratch dir;
  const std::string file = dir.file("s.yaml", small_scenario());
  for (const std::string command : {"run ", "compare --vary seed=1,2 -j 1 "}) {
    const test::ended e =
        test::shell("ulimit -v 8388608; exec '" HVSIM_PROGRAM "' " + command + file);
    INFO(e.out << e.err);
    CHECK(e.code == 1);
    CHECK_THAT(e.err, Contains("out of address space, of which ulimit -v allows 8.0 GiB"));
  }
  // What docs/results-and-ci.md promises to be enough.
  CHECK(test::shell("ulimit -v 17825792; exec '" HVSIM_PROGRAM "' run " + file).code == 0);
}

TEST_CASE("an override that a sweep brings in is blamed on it", "[tools]") {
  const test::scratch dir;
  const std::string file = dir.file("s.yaml", small_scenario());
  const std::string vary = "compare examples/zipf --vary workload.type=trace";
  check_code(vary, 78, "--vary: error: workload.file: required key is missing");
  check_code("run " + file + " --set workload.type=trace --seed 2", 78,
             "--set: error: workload.file: required key is missing");
  // The other override is not to blame.
  check_code("run examples/zipf --set vm.vcpus=500 --seed 3", 2, "--set: error: vm.vcpus");
  check_code("run examples/zipf --set vm.vcpus=2 --seed x", 2, "--seed: error: seed");
  // What the file lacks is the file's fault, whatever is set beside it.
  const std::string lacking =
      dir.file("lacking.yaml", "schema_version: 1\nmachine: unit\nworkload: {type: trace}\n");
  check_code("run " + lacking + " --set workload.memory=8MiB", 78,
             "lacking.yaml:3:1: error: workload.file: required key is missing");
}

TEST_CASE("help names every built-in comparison", "[tools]") {
  const test::ended e = test::hvsim("reproduce --help");
  std::size_t known = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(HVSIM_SOURCE_DIR "/configs/published")) {
    if (entry.path().extension() != ".yaml") continue;
    INFO(e.out);
    CHECK_THAT(e.out, Contains(entry.path().stem().string()));
    ++known;
  }
  CHECK(known >= 5);
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
