// SPDX-License-Identifier: Apache-2.0
// ftrace recordings, and the way from a run to one and back.
#include <algorithm>
#include <sstream>

#include "guest_workloads/trace_format.hpp"
#include "sim/report/ftrace.hpp"
#include "streams.hpp"

using namespace hvsim;

TEST_CASE("lines of ftrace", "[trace]") {
  using workloads::parse_ftrace_line;
  for (const char* text :
       {" dirty_log_perf_-1289    [002]    240.876959: kvm_guest_fault: ipa 0x180000, hsr "
        "0x82000084, hxfar 0x405ac0, pc 0x00000000405ac0",
        "       CPU 3/KVM-1289 [002] d..1. 240.876959: kvm_guest_fault: ipa 0x180000 hsr "
        "0x82000084 "
        "hxfar 0x405ac0 pc 0x405ac0",
        "qemu 1289 [002] 240.876: kvm:kvm_guest_fault: ipa 0x180000, hsr 0x82000084, hxfar "
        "0x405ac0, pc 0x405ac0"}) {
    INFO(text);
    const auto p = parse_ftrace_line(text);
    REQUIRE(p.value);
    CHECK(p.value->pid == 1289);
    CHECK(p.value->ipa == 0x180000);
    CHECK(p.value->hsr == 0x82000084);
    CHECK(p.value->hxfar == 0x405ac0);
    CHECK(p.value->pc == 0x405ac0);
  }
  CHECK_FALSE(parse_ftrace_line("# tracer: nop").value);
  CHECK_FALSE(parse_ftrace_line(" x-1 [000] 1.0: kvm_exit: TRAP: HSR_EC: 0x0024").value);
  CHECK_FALSE(parse_ftrace_line(" x-1 [000] 1.0: kvm_guest_fault: ipa 0x1000").error.empty());
  CHECK_FALSE(
      parse_ftrace_line("kvm_guest_fault: ipa 0x1, hsr 0x2, hxfar 0x3, pc 0x4").error.empty());
}

TEST_CASE("the fault stream has the form of the kernel's", "[trace]") {
  report::guest_fault f;
  f.time = engine::sim_time{240'876'959'123'456};
  f.core = engine::core_id{2};
  f.ipa = engine::ipa{0x180000};
  f.hsr = 0x82000084;
  f.hxfar = engine::gva{0x2000};
  f.pc = engine::gva{0x405ac0};
  // A recorded line with the task's name and the small address of another one.
  CHECK(report::to_ftrace_line(f) ==
        "           vcpu0-1000    [002]    240.876959: kvm_guest_fault: ipa 0x180000, hsr "
        "0x82000084, hxfar 0x002000, pc 0x00000000405ac0\n");
}

TEST_CASE("events are written in order, whenever they come", "[trace]") {
  const test::scratch folder;
  const std::string path = folder.at("out/f.txt");
  {
    report::ftrace_writer w(path, 4);
    const auto at = [](std::int64_t us, std::uint32_t vcpu, std::uint64_t ipa) {
      report::guest_fault f;
      f.time = engine::sim_time{us * 1'000'000};
      f.vcpu = vcpu;
      f.ipa = engine::ipa{ipa};
      return f;
    };
    w.add(at(5, 1, 0x5000));
    w.add(at(2, 1, 0x2000));
    w.settle(engine::sim_time{3'000'000});
    CHECK(w.held() == 1);
    w.add(at(5, 0, 0x4000));
    w.add(at(3, 0, 0x3000));
    CHECK_FALSE(std::filesystem::exists(path));
    w.finish();
  }
  std::ifstream in(path);
  std::string line;
  std::string order;
  while (std::getline(in, line)) {
    if (line.starts_with("# entries"))
      CHECK(line.starts_with("# entries-in-buffer/entries-written: 4/4   #P:4 "));
    if (const auto p = workloads::parse_ftrace_line(line); p.value)
      order += std::to_string(p.value->ipa >> 12);
  }
  CHECK(order == "2345");
}

TEST_CASE("a run's fault stream replays to the same faults", "[trace]") {
  const test::scratch folder;
  const auto stream = [&](const std::string& name, const scenario::scenario& s) {
    experiment::run_options o;
    o.ftrace_file = folder.at(name);
    const auto r = experiment::run(s, o);
    std::ifstream in(o.ftrace_file);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);)
      if (const auto at = line.find("kvm_guest_fault"); at != std::string::npos)
        lines.push_back(line.substr(at));
    CHECK(lines.size() >= r.faults);
    return lines;
  };
  // The whole program: code, stack, stage-1 tables, test memory in blocks, the exit's page.
  const auto recorded = stream(
      "a.ft", test::good("schema_version: 1\nmachine: unit\nvm: {vcpus: 1}\nworkload: {type: "
                         "dirty_log_perf_test, bytes_per_vcpu: 8MiB, backing: anonymous_thp}\n"));
  std::vector<std::string> first_pass(recorded.begin(), recorded.end());
  const auto end = std::find_if(first_pass.begin(), first_pass.end(), [](const std::string& l) {
    return l.find("ipa 0x500000000000") != std::string::npos;
  });
  REQUIRE(end != first_pass.end());
  first_pass.erase(end + 1, first_pass.end());
  std::string text;
  for (const std::string& l : first_pass) text += " vcpu0-1000 [000] 0.000001: " + l + "\n";
  folder.file("first.ft", text);
  const auto again = stream(
      "b.ft",
      test::good("schema_version: 1\nmachine: unit\nvm: {vcpus: 1}\nworkload: {type: trace, file: "
                 "first.ft, format: ftrace, memory: 8MiB, backing: anonymous_thp}\n",
                 folder.at("s.yaml")));
  CHECK(first_pass.size() > 20);
  CHECK(again == first_pass);
}
