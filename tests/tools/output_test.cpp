// SPDX-License-Identifier: Apache-2.0
// Files that the program writes, and what stands in their way.
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "program.hpp"

using namespace hvsim;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
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

TEST_CASE("the text of a run says what ran on what", "[tools]") {
  const test::scratch dir;
  const std::string run = dir.file("run.yaml", test::small_scenario());
  const test::ended host = test::hvsim(
      "run " + run + " --set hypervisor.kernel=linux-6.12 --set vm.placement=spread --set seed=3");
  INFO(host.out << host.err);
  CHECK_THAT(host.out, Contains("\n\nSimulated: linux-6.12 on unit, 2 vCPUs, placement spread, "
                                "seed 3\n\nPhases (virtual time)\n"));
  CHECK_THAT(test::hvsim("run " + run + " --set host.cpus=1").out,
             Contains("on unit, 2 vCPUs on 1 CPU, placement compact, seed 1\n"));
  CHECK_THAT(
      test::hvsim("run " + run + " --set hypervisor.mmap_lock=false --set machine.costs.trap=1us")
          .out,
      Contains(", placement compact, seed 1, with hypervisor.mmap_lock false, "
               "machine.costs.trap 1us\n"));
  const test::ended guest = test::hvsim("run examples/lock-torture");
  INFO(guest.out << guest.err);
  CHECK_THAT(guest.out,
             Contains("\n\nSimulated: kvm-arm64 on altra-64, lock qspinlock, 1 VM of 16 vCPUs on "
                      "8 CPUs, seed 1\n\nPhases (virtual time)\n"));
}

TEST_CASE("a check prints text, JSON and CSV with the same exit code", "[tools]") {
  const test::scratch dir;
  const std::string file = dir.file(
      "f.yaml", test::small_scenario("expect:\n  - {what: count.dirty2.event mark_dirty, min: 1}\n"
                                     "  - {name: \"none, at all\", what: faults, max: 0}\n"
                                     "  - {what: time.none, max: 1s}\n"));
  const test::ended text = test::hvsim("check " + file);
  const test::ended json = test::hvsim("check --format json " + file);
  const test::ended csv = test::hvsim("check --format csv " + file);
  CHECK(text.code == 78);
  CHECK(json.code == 78);
  CHECK(csv.code == 78);
  const auto doc = nlohmann::json::parse(json.out);
  CHECK(doc["totals"] ==
        nlohmann::json({{"ok", 1}, {"missed", 1}, {"broken", 1}, {"interrupted", 0}}));
  REQUIRE(doc["rows"].size() == 3);
  CHECK(doc["rows"][1]["file"] == file);
  CHECK(doc["rows"][1]["name"] == "none, at all");
  CHECK(doc["rows"][1]["what"] == "faults");
  CHECK(doc["rows"][1]["expected"] == "<= 0");
  CHECK(doc["rows"][1]["outcome"] == "missed");
  CHECK_FALSE(doc["rows"][1].contains("message"));
  CHECK(doc["rows"][2]["outcome"] == "broken");
  CHECK_THAT(csv.out, StartsWith("file,name,what,expected,actual,outcome,message\n" + file +
                                 ",count.dirty2.event mark_dirty,count.dirty2.event mark_dirty,") &&
                          Contains(file + ",\"none, at all\",faults,<= 0,"));
  const std::string plain = dir.file("plain.yaml", test::small_scenario());
  for (const char* format : {"text", "json", "csv"})
    CHECK(test::hvsim("check " + plain + " --format " + format).code == 66);
}

TEST_CASE("lists print as CSV, one row a name or a key", "[tools]") {
  CHECK_THAT(test::hvsim("list machines --format csv").out,
             StartsWith("name,help\n") && Contains("\nunit,"));
  CHECK_THAT(
      test::hvsim("list presets --format csv").out,
      StartsWith("name,key,value,help\n") && Contains("\nlinux-6.12,hypervisor.mmu_lock,rwlock,"));
  CHECK_THAT(test::hvsim("list switches --format csv").out,
             StartsWith("key,type,default,min,max,choices,workload,help\n") &&
                 Contains("hypervisor.mmu_lock,choice,") && Contains(",spinlock|rwlock,,"));
  CHECK_THAT(test::hvsim("list workloads --format csv").out,
             StartsWith("name,key,type,default,min,max,choices,help\n") &&
                 Contains("\ndirty_log_perf_test,workload.bytes_per_vcpu,size,"));
  CHECK_THAT(test::hvsim("list backends --format csv").out,
             StartsWith("name,key,value,kind,source,help\n") && Contains("\nkvm-arm64,"));
}
