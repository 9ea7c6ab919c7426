// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>

#include "sample.hpp"
#include "sim/report/errors.hpp"
#include "sim/report/render.hpp"

using namespace hvsim;
using json = nlohmann::ordered_json;

namespace {

std::string error_of(const json& document) {
  try {
    report::from_json(document);
  } catch (const report::input_error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a result survives JSON text", "[report]") {
  const report::run_result before = test::sample_result();
  const std::string text = report::to_json(before).dump();
  const report::run_result after = report::from_json(json::parse(text));
  CHECK(after.name == before.name);
  CHECK(after.config == before.config);
  CHECK(after.seed == before.seed);
  CHECK(after.fingerprint == before.fingerprint);
  CHECK(after.total_time == before.total_time);
  CHECK(after.threads == before.threads);
  CHECK(after.faults == before.faults);
  CHECK(after.accesses == before.accesses);
  CHECK(after.table_bytes == before.table_bytes);
  CHECK(after.guest_pages == before.guest_pages);
  CHECK(after.times == before.times);
  CHECK(after.text == before.text);
  CHECK(after.phases == before.phases);
  CHECK(after.breakdown == before.breakdown);
  CHECK(after.locks == before.locks);
  CHECK(after.exits == before.exits);
  CHECK(after.fault_latency == before.fault_latency);
  CHECK(after.source.compiler == "gcc 12");
  CHECK(after.source.wall_seconds == 1.25);
  CHECK(report::to_json(after).dump() == text);
}

TEST_CASE("only the provenance block knows host and wall clock", "[report]") {
  report::run_result a = test::sample_result();
  report::run_result b = a;
  b.source = {"9", "other", "clang", "Debug", "elsewhere", "another", 99.5, 1, {}};
  json first = report::to_json(a);
  json second = report::to_json(b);
  CHECK(first.dump() != second.dump());
  first.erase("provenance");
  second.erase("provenance");
  CHECK(first.dump() == second.dump());
}

TEST_CASE("integers beyond a double's 53 bits stay exact", "[report]") {
  report::run_result r = test::sample_result();
  r.faults = 9'007'199'254'740'993;  // 2^53 + 1
  r.total_time = engine::duration{9'007'199'254'740'993};
  const auto back = report::from_json(json::parse(report::to_json(r).dump()));
  CHECK(back.faults == 9'007'199'254'740'993);
  CHECK(back.total_time.ps() == 9'007'199'254'740'993);
}

TEST_CASE("a document that is not ours is refused with its place", "[report]") {
  json document = report::to_json(test::sample_result());
  json changed = document;
  changed["schema_version"] = 2;
  CHECK(error_of(changed) == "schema_version: 2 is not known; this program reads version 1");
  changed = document;
  changed["locks"][1].erase("max_wait_ps");
  CHECK(error_of(changed) == "locks[1].max_wait_ps: missing");
  changed = document;
  changed["phases"][0]["counts"]["stage2.map"] = -1;
  CHECK(error_of(changed) == "phases[0].counts.stage2.map: expected a count");
  changed = document;
  changed["times"][0]["time_ps"] = 1.5;
  CHECK(error_of(changed) == "times[0].time_ps: expected integer picoseconds");
  changed = document;
  changed["fingerprint"] = "0x12g";
  CHECK(error_of(changed) == "fingerprint: expected a hexadecimal string");
  CHECK(error_of(json::array()) == "document: expected an object");
}

TEST_CASE("a stored result that is wrong is refused at its line and column", "[report]") {
  json document = report::to_json(test::sample_result());
  document["locks"][1]["contended"] = -3;
  const std::string text = document.dump(2);
  // Counted by hand from the text itself: the value stands behind its key.
  const auto at = text.find("-3");
  const auto line =
      1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  const auto column = at - text.rfind('\n', at);
  try {
    report::from_json(report::json_source("r.json", text));
    FAIL("accepted");
  } catch (const report::input_error& e) {
    CHECK(e.what() == "r.json:" + std::to_string(line) + ":" + std::to_string(column) +
                          ": error: locks[1].contended: expected a count\n");
  }
}
