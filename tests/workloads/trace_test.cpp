// SPDX-License-Identifier: Apache-2.0
// Traces in hvsim's own format.
#include "guest_workloads/trace_file.hpp"
#include "guest_workloads/trace_format.hpp"
#include "sim/experiment/source.hpp"
#include "sim/report/errors.hpp"
#include "streams.hpp"

using namespace hvsim;
using Catch::Matchers::Contains;
using workloads::trace_kind;
using workloads::trace_space;

namespace {

/// Scenario of a trace in `folder` with two vCPUs and 4 MiB of 4 KiB pages.
scenario::scenario trace_scenario(const test::scratch& folder, const std::string& file,
                                  const std::string& more = "") {
  return test::good(
      "schema_version: 1\nmachine: unit\nvm: {vcpus: 2}\nworkload: {type: trace, file: " + file +
          ", memory: 4MiB" + more + "}\n",
      folder.at("s.yaml"));
}

std::string trace_complaint(const test::scratch& folder, const std::string& text) {
  folder.file("t.trace", text);
  try {
    experiment::run(trace_scenario(folder, "t.trace"));
  } catch (const report::input_error& e) {
    const std::string what = e.what();
    return what.substr(what.find("t.trace"));
  }
  return "accepted";
}

}  // namespace

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
  const std::vector<std::pair<const char*, int>> wrong{{"4 0 R mem:0 8", 1},
                                                       {"-1 0 R mem:0 8", 1},
                                                       {"0 120 R mem:0 8", 3},
                                                       {"0 -5ns R mem:0 8", 3},
                                                       {"0 0 Q mem:0 8", 5},
                                                       {"0 0 R 0x10 8", 7},
                                                       {"0 0 R pa:0x10 8", 7},
                                                       {"0 0 R mem:zz 8", 7},
                                                       {"0 0 R mem:0", 12},
                                                       {"0 0 R mem:0 0", 13},
                                                       {"0 0 R mem:0 8 9", 15},
                                                       {"log", 4},
                                                       {"log on", 5},
                                                       {"barrier 3", 9},
                                                       {"0 0 R mem:0 18446744073709551616", 13},
                                                       {"00 0 R mem:0 8", 1},
                                                       {"01 0 R mem:0 8", 1},
                                                       {"0 00 R mem:0 8", 3},
                                                       {"0 010ns R mem:0 8", 3},
                                                       {"0 0 R mem:010 8", 7},
                                                       {"0 0 R mem:0 08", 13}};
  for (const auto& [text, column] : wrong) {
    INFO(text);
    CHECK_FALSE(line(text).value);
    CHECK_FALSE(line(text).error.empty());
    CHECK(line(text).column == column);
  }
}

TEST_CASE("complaints about a trace have positions", "[trace]") {
  const test::scratch folder;
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

TEST_CASE("byte order marks of a trace are taken as those of a scenario", "[trace]") {
  const test::scratch folder;
  const std::string text = "# hvsim-trace 1\n0 0 W mem:0 8\n";
  CHECK(trace_complaint(folder, "\xef\xbb\xbf" + text) == "accepted");
  for (const char* mark : {"\xff\xfe", "\xfe\xff"}) {
    const std::string wrong = mark + text;
    const auto scenario = scenario::parse_text(wrong, "t.trace", simulate::catalogue());
    REQUIRE(scenario.errors.size() == 1);
    CHECK(trace_complaint(folder, wrong) == scenario::to_line(scenario.errors[0]) + "\n");
  }
}

TEST_CASE("an access that crosses pages becomes one for each", "[trace]") {
  const test::scratch folder;
  folder.file("t.trace",
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
  CHECK(test::count_of(r, "trace", "event mark_dirty") >= 7);
}

TEST_CASE("an access of more pages than can be mapped is refused at its size", "[trace]") {
  const test::scratch folder;
  workloads::trace_guest guest;
  guest.test_va = engine::gva{0xc0000000};
  guest.test_size = engine::mebibytes(4);
  guest.most_pages = 16;
  const auto read = [&](const std::string& line) {
    const std::string path = folder.file("t.trace", "# hvsim-trace 1\n" + line + "\n");
    return workloads::trace_file(path, workloads::trace_format::hvsim, guest).accesses();
  };
  CHECK(read("0 0 W mem:0 65536") == 16);
  CHECK_THROWS_WITH(read("0 0 W mem:0   65537"),
                    Contains("t.trace:2:15: error: an access of 65537B touches 17 pages") &&
                        Contains("workload.backing"));
}

TEST_CASE("a barrier lets the slowest catch up", "[trace]") {
  const test::scratch folder;
  const auto time = [&](const std::string& between) {
    folder.file("t.trace", "# hvsim-trace 1\n0 5ms R mem:0 8\n" + between + "1 5ms R mem:4096 8\n");
    return report::find_time(experiment::run(trace_scenario(folder, "t.trace")), "trace")->ps();
  };
  // Each vCPU waits 5 ms: at the same time, or one after the other.
  CHECK(time("") < 6'000'000'000);
  CHECK(time("barrier\n") > 10'000'000'000);
}

TEST_CASE("the order of lines of different vCPUs means nothing", "[trace]") {
  const test::scratch folder;
  std::string mixed = "# hvsim-trace 1\n";
  std::string first = mixed;
  std::string second;
  for (int i = 0; i < 20000; ++i) {
    const std::string line =
        std::to_string(i % 2) + " 10ns W mem:" + std::to_string((i * 7919) % 1024 * 4096) + " 8\n";
    mixed += line;
    (i % 2 == 0 ? first : second) += line;
  }
  folder.file("mixed.trace", mixed);  // several blocks of the reader
  folder.file("apart.trace", first + second);
  const auto a = experiment::run(trace_scenario(folder, "mixed.trace"));
  const auto b = experiment::run(trace_scenario(folder, "apart.trace"));
  CHECK(a.accesses == 20000);
  CHECK(a.fingerprint == b.fingerprint);
}
