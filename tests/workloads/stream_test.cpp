// SPDX-License-Identifier: Apache-2.0
// Access patterns, the synthetic workload's complaints, traces, and the way from a run to an
// ftrace file and back.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "guest_workloads/stream_math.hpp"
#include "guest_workloads/stream_patterns.hpp"
#include "guest_workloads/trace_format.hpp"
#include "sim/experiment/source.hpp"
#include "sim/report/errors.hpp"
#include "sim/report/ftrace.hpp"
#include "sim/scenario/render.hpp"
#include "tests/hypervisor/simulate.hpp"

using namespace hvsim;
using workloads::trace_kind;
using workloads::trace_space;

namespace {

/// A folder of its own that goes away with the test.
class scratch {
 public:
  scratch()
      : path_(std::filesystem::temp_directory_path() /
              ("hvsim_stream_test_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~scratch() { std::filesystem::remove_all(path_); }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(file(name), std::ios::binary) << text;
  }

 private:
  std::filesystem::path path_;
};

std::string complaints(const std::string& text) {
  const auto parsed = scenario::parse_text(text, "s.yaml", simulate::catalogue());
  std::string out;
  for (const auto& d : parsed.errors) out += scenario::to_line(d) + "\n";
  return out;
}

scenario::scenario good(const std::string& text, const std::string& name = "s.yaml") {
  auto parsed = scenario::parse_text(text, name, simulate::catalogue());
  INFO(scenario::to_text(parsed.errors, parsed.sources));
  REQUIRE(parsed);
  return *parsed.value;
}

/// Scenario of a trace in `folder` with two vCPUs and 4 MiB of 4 KiB pages.
scenario::scenario trace_scenario(const scratch& folder, const std::string& file,
                                  const std::string& more = "") {
  return good("schema_version: 1\nmachine: unit\nvm: {vcpus: 2}\nworkload: {type: trace, file: " +
                  file + ", memory: 4MiB" + more + "}\n",
              folder.file("s.yaml"));
}

std::string trace_complaint(const scratch& folder, const std::string& text) {
  folder.write("t.trace", text);
  try {
    experiment::run(trace_scenario(folder, "t.trace"));
  } catch (const report::input_error& e) {
    const std::string what = e.what();
    return what.substr(what.find("t.trace"));
  }
  return "accepted";
}

std::uint64_t count_of(const report::run_result& r, const std::string& phase,
                       const std::string& kind) {
  return simulate::counts_by_phase(r)[phase][kind];
}

}  // namespace

TEST_CASE("logarithm and exponential agree with the C library", "[stream]") {
  for (double x = 1e-6; x < 1e15; x *= 1.37) {
    CHECK(workloads::portable_log(x) == Approx(std::log(x)).epsilon(1e-13).margin(1e-14));
    CHECK(workloads::portable_exp(std::log(x)) == Approx(x).epsilon(1e-12));
  }
  for (double t = -0.95; t < 30; t += 0.0501) {
    CHECK(workloads::log1p_over(t) == Approx(std::log1p(t) / t).epsilon(1e-12));
    CHECK(workloads::expm1_over(t) == Approx(std::expm1(t) / t).epsilon(1e-12));
  }
  CHECK(workloads::log1p_over(0) == 1);
  CHECK(workloads::expm1_over(0) == 1);
}

TEST_CASE("zipf ranks have the frequencies of the distribution", "[stream]") {
  constexpr std::uint64_t n = 1000;
  constexpr std::uint64_t draws = 200'000;
  for (const double s : {0.5, 0.99, 1.0, 1.5, 3.0}) {
    double normal = 0;
    for (std::uint64_t k = 1; k <= n; ++k) normal += std::pow(static_cast<double>(k), -s);
    const workloads::zipf_ranks ranks(n, s);
    engine::random_stream random(7, 1);
    std::vector<std::uint64_t> seen(n + 1);
    for (std::uint64_t i = 0; i < draws; ++i) {
      const std::uint64_t k = ranks.draw(random);
      REQUIRE(k >= 1);
      REQUIRE(k <= n);
      ++seen[k];
    }
    // Chi-square over the ranks that expect at least 20 draws, the others in one class.
    double chi = 0;
    double rest_expected = 0;
    double rest_seen = 0;
    int classes = 0;
    for (std::uint64_t k = 1; k <= n; ++k) {
      const double expected =
          static_cast<double>(draws) * std::pow(static_cast<double>(k), -s) / normal;
      if (expected < 20) {
        rest_expected += expected;
        rest_seen += static_cast<double>(seen[k]);
        continue;
      }
      const double off = static_cast<double>(seen[k]) - expected;
      chi += off * off / expected;
      ++classes;
    }
    if (rest_expected > 0) {
      chi += (rest_seen - rest_expected) * (rest_seen - rest_expected) / rest_expected;
      ++classes;
    }
    // Mean classes - 1, variance twice that: five standard deviations.
    const double freedom = classes - 1;
    INFO("exponent " << s << ", chi-square " << chi << " with " << freedom);
    CHECK(chi < freedom + 5 * std::sqrt(2 * freedom));
  }
}

TEST_CASE("a region of one page has one rank", "[stream]") {
  engine::random_stream random(1, 1);
  const workloads::zipf_ranks ranks(1, 0.99);
  for (int i = 0; i < 100; ++i) CHECK(ranks.draw(random) == 1);
}

TEST_CASE("a permutation visits every page once", "[stream]") {
  for (const std::uint64_t n : {1U, 2U, 3U, 4U, 5U, 100U, 512U, 513U, 4095U, 4097U, 100000U}) {
    const workloads::permutation order(n, 0x1234);
    std::vector<bool> seen(n);
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::uint64_t to = order(i);
      REQUIRE(to < n);
      REQUIRE_FALSE(seen[to]);
      seen[to] = true;
    }
  }
}

TEST_CASE("a pointer chase is no sequence, and another key gives another", "[stream]") {
  constexpr std::uint64_t n = 4096;
  const workloads::permutation a(n, 1);
  const workloads::permutation b(n, 2);
  std::uint64_t neighbours = 0;
  std::uint64_t same = 0;
  for (std::uint64_t i = 0; i + 1 < n; ++i) {
    if (a(i + 1) == a(i) + 1) ++neighbours;
    if (a(i) == b(i)) ++same;
  }
  // Both are about 1 for random orders.
  CHECK(neighbours < 12);
  CHECK(same < 12);
}

TEST_CASE("patterns stay in their region", "[stream]") {
  using workloads::pattern;
  engine::random_stream random(3, 3);
  workloads::pattern_options o;
  o.size = 3 * 4096;
  const auto first = [&](pattern p, std::size_t count) {
    o.kind = p;
    workloads::offset_stream s(o, random);
    std::vector<std::uint64_t> out(count);
    for (auto& x : out) x = s.next();
    return out;
  };
  CHECK(first(pattern::sequential, 4) == std::vector<std::uint64_t>{0, 4096, 8192, 0});
  o.stride = 5000;
  CHECK(first(pattern::strided, 4) == std::vector<std::uint64_t>{0, 5000, 10000, 2712});
  for (const pattern p : {pattern::random, pattern::zipf, pattern::pointer_chase})
    for (const std::uint64_t x : first(p, 100)) {
      CHECK(x < o.size);
      CHECK(x % 4096 == 0);
    }
}

TEST_CASE("a synthetic stream does what it says", "[stream]") {
  const auto r = experiment::run(good(R"(schema_version: 1
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
  CHECK(count_of(r, "pass", "fault test DW perm L3") == 32);
  CHECK(count_of(r, "again1", "fault test DW perm L3") == 16);
  CHECK(count_of(r, "again2", "fault test DW perm L3") == 16);
  for (const char* key : {"fill", "pass_enable", "pass", "again1_get", "again1", "again2_get"})
    CHECK(report::find_time(r, key).has_value());
  CHECK_FALSE(report::find_time(r, "again1_clear").has_value());
}

TEST_CASE("vCPUs of a shared memory meet at its pages", "[stream]") {
  const auto run = [](const char* sharing) {
    return experiment::run(good(std::string("schema_version: 1\nmachine: unit\nvm: {vcpus: 4}\n"
                                            "workload: {type: synthetic, memory: 1MiB, sharing: ") +
                                sharing + ", phases: [{name: p, steps: [{write: 100}]}]}\n"));
  };
  CHECK(run("private").guest_pages == 1024);
  CHECK(run("shared").guest_pages == 256);
  CHECK(run("private").accesses == run("shared").accesses);
}

TEST_CASE("fetches need no more than memory", "[stream]") {
  const auto r = experiment::run(good(
      "schema_version: 1\nmachine: unit\nvm: {vcpus: 1}\nworkload: {type: synthetic, memory: 64KiB,"
      " phases: [{name: p, steps: [{execute: 100}]}]}\n"));
  // Sixteen pages; the first walk finds nothing at level 0, the others at level 3.
  CHECK(count_of(r, "p", "fault test Ix trans L0") + count_of(r, "p", "fault test Ix trans L1") +
            count_of(r, "p", "fault test Ix trans L2") +
            count_of(r, "p", "fault test Ix trans L3") ==
        16);
}

TEST_CASE("complaints about a synthetic stream have positions", "[stream]") {
  const std::string head =
      "schema_version: 1\nmachine: unit\nvm: {vcpus: 2}\nworkload:\n  type: synthetic\n"
      "  memory: 1MiB\n  regions:\n    - {name: heap, size: 64KiB}\n";
  const auto with = [&](const std::string& rest) { return complaints(head + rest); };
  CHECK(with("  phases: [{name: p, steps: [{region: heep}]}]\n") ==
        "s.yaml:9:39: error: workload.phases[0].steps[0].region: unknown region 'heep'; did you "
        "mean 'heap'? known regions: memory, heap\n");
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

TEST_CASE("lines of a trace", "[trace]") {
  const auto line = [](const char* text) { return workloads::parse_trace_line(text, 4); };
  const auto full = line("  3 1.5us W gva:0xC0001000 0x10  # a comment\r");
  REQUIRE(full.value);
  CHECK(full.value->vcpu == 3);
  CHECK(full.value->delay_ps == 1'500'000);
  CHECK(full.value->kind == trace_kind::write);
  CHECK(full.value->space == trace_space::gva);
  CHECK(full.value->address == 0xc0001000);
  CHECK(full.value->size == 16);
  CHECK(line("0 0 R ipa:4096 1").value->space == trace_space::ipa);
  CHECK(line("0 0 X mem:0 4").value->kind == trace_kind::execute);
  CHECK(line("barrier").value->kind == trace_kind::barrier);
  CHECK(line("log clear # now").value->kind == trace_kind::log_clear);
  for (const char* nothing : {"", "   ", "# all comment", "\r"}) {
    CHECK_FALSE(line(nothing).value);
    CHECK(line(nothing).error.empty());
  }
  const std::vector<std::pair<const char*, int>> wrong{
      {"4 0 R mem:0 8", 1},    {"-1 0 R mem:0 8", 1},   {"0 120 R mem:0 8", 3},
      {"0 -5ns R mem:0 8", 3}, {"0 0 Q mem:0 8", 5},    {"0 0 R 0x10 8", 7},
      {"0 0 R pa:0x10 8", 7},  {"0 0 R mem:zz 8", 7},   {"0 0 R mem:0", 12},
      {"0 0 R mem:0 0", 13},   {"0 0 R mem:0 8 9", 15}, {"log", 4},
      {"log on", 5},           {"barrier 3", 9},        {"0 0 R mem:0 18446744073709551616", 13}};
  for (const auto& [text, column] : wrong) {
    INFO(text);
    CHECK_FALSE(line(text).value);
    CHECK_FALSE(line(text).error.empty());
    CHECK(line(text).column == column);
  }
}

TEST_CASE("complaints about a trace have positions", "[trace]") {
  const scratch folder;
  const auto complain = [&](const std::string& text) { return trace_complaint(folder, text); };
  const std::string head = "# hvsim-trace 1\n";
  CHECK(complain("") ==
        "t.trace:1:1: error: the file is empty; expected the header '# hvsim-trace 1'\n");
  CHECK(complain("0 0 R mem:0 8\n").find("t.trace:1:1: error: expected the header") == 0);
  CHECK(complain("# hvsim-trace 2\n").find("t.trace:1:1: error: this program reads version 1") ==
        0);
  CHECK(complain(head + "\n0 0 R mem:4194304 8\n").find("t.trace:3:7: error: expected 8 bytes") ==
        0);
  CHECK(complain(head + "0 0 R mem:4194300 8\n").find("t.trace:2:7: error: expected 8 bytes") == 0);
  CHECK(complain(head + "0 0 R mem:4194296 8\n") == "accepted");
  CHECK(complain(head + "0 0 R mem:0 8\nlog get\n").find("t.trace:3:1: error: the dirty log") == 0);
  CHECK(complain(head + "# nothing\n").find("the trace has no access") != std::string::npos);
  CHECK(complain(std::string("\x1f\x8b\x08", 3)).find("compressed (gzip)") != std::string::npos);
  CHECK(complain(std::string("\xfd"
                             "7zXZ\0",
                             6))
            .find("compressed (xz)") != std::string::npos);
  CHECK(complain(head + std::string(5000, 'x')).find("t.trace:2:1: error: a line has at most") ==
        0);
  CHECK_THROWS_AS(experiment::run(trace_scenario(folder, "absent.trace")),
                  experiment::config_error);
}

TEST_CASE("an access that crosses pages becomes one for each", "[trace]") {
  const scratch folder;
  folder.write("t.trace",
               "# hvsim-trace 1\n"
               "0 0 W mem:4092 4\n"         // ends with its page
               "0 0 W mem:8188 8\n"         // two pages
               "1 0 W mem:65536 12289\n");  // three pages and a byte
  const auto r = experiment::run(trace_scenario(folder, "t.trace"));
  CHECK(r.accesses == 1 + 2 + 4);
  // Pages 0, 1, 2 and 16 to 19 of test memory.
  std::uint64_t faults = 0;
  const simulate::counts all = simulate::counts_by_phase(r)["trace"];
  for (const auto& [kind, value] : all)
    if (kind.starts_with("action [test")) faults += value;
  CHECK(faults == 7);
  CHECK(count_of(r, "trace", "event mark_dirty") >= 7);
}

TEST_CASE("a barrier lets the slowest catch up", "[trace]") {
  const scratch folder;
  const auto time = [&](const std::string& between) {
    folder.write("t.trace",
                 "# hvsim-trace 1\n0 5ms R mem:0 8\n" + between + "1 5ms R mem:4096 8\n");
    return report::find_time(experiment::run(trace_scenario(folder, "t.trace")), "trace")->ps();
  };
  // Each vCPU waits 5 ms: at the same time, or one after the other.
  CHECK(time("") < 6'000'000'000);
  CHECK(time("barrier\n") > 10'000'000'000);
}

TEST_CASE("the order of lines of different vCPUs means nothing", "[trace]") {
  const scratch folder;
  std::string mixed = "# hvsim-trace 1\n";
  std::string first = mixed;
  std::string second;
  for (int i = 0; i < 20000; ++i) {
    const std::string line =
        std::to_string(i % 2) + " 10ns W mem:" + std::to_string((i * 7919) % 1024 * 4096) + " 8\n";
    mixed += line;
    (i % 2 == 0 ? first : second) += line;
  }
  folder.write("mixed.trace", mixed);  // several blocks of the reader
  folder.write("apart.trace", first + second);
  const auto a = experiment::run(trace_scenario(folder, "mixed.trace"));
  const auto b = experiment::run(trace_scenario(folder, "apart.trace"));
  CHECK(a.accesses == 20000);
  CHECK(a.fingerprint == b.fingerprint);
}

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
  const scratch folder;
  const std::string path = folder.file("out/f.txt");
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
  const scratch folder;
  const auto stream = [&](const std::string& name, const scenario::scenario& s) {
    experiment::run_options o;
    o.ftrace_file = folder.file(name);
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
  const auto recorded =
      stream("a.ft", good("schema_version: 1\nmachine: unit\nvm: {vcpus: 1}\nworkload: {type: "
                          "dirty_log_perf_test, bytes_per_vcpu: 8MiB, backing: anonymous_thp}\n"));
  std::vector<std::string> first_pass(recorded.begin(), recorded.end());
  const auto end = std::find_if(first_pass.begin(), first_pass.end(), [](const std::string& l) {
    return l.find("ipa 0x500000000000") != std::string::npos;
  });
  REQUIRE(end != first_pass.end());
  first_pass.erase(end + 1, first_pass.end());
  std::string text;
  for (const std::string& l : first_pass) text += " vcpu0-1000 [000] 0.000001: " + l + "\n";
  folder.write("first.ft", text);
  const auto again =
      stream("b.ft",
             good("schema_version: 1\nmachine: unit\nvm: {vcpus: 1}\nworkload: {type: trace, file: "
                  "first.ft, format: ftrace, memory: 8MiB, backing: anonymous_thp}\n",
                  folder.file("s.yaml")));
  CHECK(first_pass.size() > 20);
  CHECK(again == first_pass);
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
      good("schema_version: 1\nmachine: unit\nvm: {vcpus: 16}\nworkload: {type: synthetic,"
           " memory: 32MiB, sharing: shared, phases: [{name: p, repeat: 3, steps: "
           "[{write: 100}]}]}\n"),
      o);
  CHECK(calls > 0);
}
