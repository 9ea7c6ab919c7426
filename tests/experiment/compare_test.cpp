// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/compare.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "fake.hpp"
#include "sim/report/errors.hpp"

using namespace hvsim;
using namespace hvsim::experiment;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::Equals;

namespace {

/// Kernel a: 3 s a vCPU; kernel b: 1.5 s a vCPU.
comparison swept(const std::vector<std::string>& axes, std::vector<std::string> metrics) {
  test::fake_runner runner;
  runner.dirty = [](const auto& s) {
    const std::int64_t each = test::text_at(s, "k") == "a" ? 3'000'000'000'000 : 1'500'000'000'000;
    return each * std::stoll(test::text_at(s, "vm.vcpus"));
  };
  compare_request request;
  request.file = "f.yaml";
  for (const auto& a : axes) request.axes.push_back(parse_axis(a));
  request.metrics = std::move(metrics);
  return compare(request, test::fake_loader(), runner);
}

comparison two_by_two() {
  return swept({"k=a,b", "vm.vcpus=1,2"}, {"time.dirty2", "faults"});
}

}  // namespace

TEST_CASE("two axes make columns, rows and ratios", "[experiment]") {
  CHECK(to_text(two_by_two()) ==
        "fake: time.dirty2\n"
        "  vm.vcpus             a             b   a / b\n"
        "         1  3.000000000s  1.500000000s  2.000x\n"
        "         2  6.000000000s  3.000000000s  2.000x\n"
        "\n"
        "fake: faults\n"
        "  vm.vcpus    a    b   a / b\n"
        "         1  517  517  1.000x\n"
        "         2  517  517  1.000x\n");
}

TEST_CASE("one axis makes rows against the first", "[experiment]") {
  CHECK(to_text(swept({"vm.vcpus=1,4"}, {"time.dirty2"})) ==
        "fake: time.dirty2\n"
        "  vm.vcpus   time.dirty2  first / this\n"
        "  1         1.500000000s        1.000x\n"
        "  4         6.000000000s        0.250x\n");
}

TEST_CASE("without metrics every reported time is compared", "[experiment]") {
  CHECK(swept({"vm.vcpus=1,4"}, {}).metrics ==
        std::vector<std::string>{"time.populate", "time.dirty2"});
}

TEST_CASE("an unknown metric names its nearest relative", "[experiment]") {
  CHECK_THROWS_WITH(swept({}, {"time.dirty3"}),
                    Equals("--metric: the run has no metric 'time.dirty3'; did you mean "
                           "'time.dirty2' or 'time.populate'?"));
  CHECK_THROWS_WITH(swept({}, {"breakdown.trapp"}),
                    EndsWith("did you mean 'breakdown.trap', 'breakdown.zero' or "
                             "'breakdown.lock_wait'?"));
}

TEST_CASE("a part that only some cells have is zero in the others, a time is an error",
          "[experiment]") {
  const runner some = [](const scenario::scenario& s, const run_options&) {
    report::run_result r;
    r.total_time = engine::seconds(1);
    if (test::text_at(s, "k") == "b") {
      r.breakdown = {{"split", engine::seconds(1)}};
      r.times = {{"clear1", "", engine::seconds(1)}};
    }
    return r;
  };
  compare_request request;
  request.file = "f.yaml";
  request.axes = {{"k", {"a", "b"}}};
  request.metrics = {"breakdown.split"};
  const comparison c = compare(request, test::fake_loader(), some);
  CHECK(c.cells[0].values.at(0).value == 0);
  CHECK(c.cells[1].values.at(0).value == 1'000'000'000'000);
  request.metrics = {"time.clear1"};
  CHECK_THROWS_AS(compare(request, test::fake_loader(), some), config_error);
}

TEST_CASE("CSV has a row a cell and metric", "[experiment]") {
  CHECK(to_csv(swept({"k=a"}, {"time.dirty2", "faults"})) ==
        "k,metric,value,unit\n"
        "a,time.dirty2,3.000000000000,s\n"
        "a,faults,517,1\n");
}

TEST_CASE("a stored comparison reads back and guards itself", "[experiment]") {
  const comparison now = two_by_two();
  const comparison stored = comparison_from_json({"b.json", to_json(now).dump()});
  CHECK(to_json(stored).dump() == to_json(now).dump());
  CHECK(deviations(now, stored, 0).empty());
  CHECK(to_text(deviations(now, stored, 0)) == "no deviation from the baseline\n");
}

TEST_CASE("the guard passes exactly the tolerance and fails beyond it", "[experiment]") {
  const comparison now = two_by_two();
  comparison old = now;
  auto& value = old.cells[0].values[0].value;
  // 3 s now; against 2.4 s the change is exactly +25 %, one picosecond less is beyond.
  value = 2'400'000'000'000;
  CHECK(deviations(now, old, 250'000).empty());
  value -= 1;
  const auto all = deviations(now, old, 250'000);
  REQUIRE(all.size() == 1);
  CHECK(all[0].cell == "k=a vm.vcpus=1");
  CHECK(all[0].metric == "time.dirty2");
  CHECK(all[0].change == "+25.00%");
  // Faster is a deviation too: 3 s against 4 s.
  value = 4'000'000'000'000;
  CHECK(deviations(now, old, 240'000).size() == 1);
  CHECK(deviations(now, old, 250'000).empty());
}

TEST_CASE("missing cells and metrics are deviations", "[experiment]") {
  const comparison old = two_by_two();
  const auto fewer = deviations(swept({"k=a", "vm.vcpus=1,2"}, {"time.dirty2", "faults"}), old, 0);
  REQUIRE(fewer.size() == 2);
  CHECK(fewer[0].cell == "k=b vm.vcpus=1");
  CHECK(fewer[0].got == "missing");
  const auto narrower = deviations(swept({"k=a,b", "vm.vcpus=1,2"}, {"faults"}), old, 0);
  REQUIRE(narrower.size() == 4);
  CHECK(narrower[0].metric == "time.dirty2");
  CHECK_THAT(to_text(narrower), Contains("k=a vm.vcpus=1") && Contains("missing"));
}

namespace {

using json = nlohmann::ordered_json;

/// What is said about a stored comparison after `change`.
template <class F>
std::string refusal(F change) {
  json document = to_json(two_by_two());
  change(document);
  try {
    (void)comparison_from_json({"b.json", document.dump(1)});
  } catch (const report::input_error& e) {
    return e.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("other documents are no baseline", "[experiment]") {
  CHECK_THROWS_WITH(comparison_from_json({"b.json", "{}"}),
                    Contains("b.json:1:1: error: kind: not a stored comparison"));
  CHECK_THROWS_WITH(comparison_from_json({"b.json", "[1]"}), Contains("not a stored comparison"));
  // Line 2 of the text, behind the key.
  CHECK_THAT(refusal([](json& d) { d["schema_version"] = 9; }),
             Equals("b.json:2:20: error: schema_version: this program reads version 1; got 9\n"));
  CHECK_THAT(refusal([](json& d) { d.erase("cells"); }),
             Equals("b.json:1:1: error: cells: missing\n"));
}

TEST_CASE("everything that is wrong with a baseline is said at once, with its place",
          "[experiment]") {
  const std::string all = refusal([](json& d) {
    d["axes"][0]["values"] = {"a", "a"};
    d["axes"][1]["key"] = 7;
    d["metrics"] = {"time.dirty2", "fop", "time.dirty2"};
    d["cells"][0]["metrics"]["faults"]["unit"] = "pages";
    d["cells"][1]["metrics"]["faults"]["value"] = 1.5;
    d["cells"][2]["set"] = json::array();
  });
  for (const char* phrase :
       {"error: axes[0].values[1]: value 'a' twice", "axes[1].key: expected text; got 7",
        "metrics[1]: unknown selector 'fop'", "metrics[2]: 'time.dirty2' twice",
        "cells[0].metrics.faults.unit: expected count, bytes or ps; got \"pages\"",
        "cells[1].metrics.faults.value: expected a whole number; got 1.5",
        "cells[2].set: expected an object; got a list"})
    CHECK_THAT(all, Contains(phrase));
  CHECK(std::count(all.begin(), all.end(), '\n') == 7);
}

TEST_CASE("a baseline with holes or with cells of its own is refused", "[experiment]") {
  CHECK_THAT(refusal([](json& d) { d["cells"].erase(3); }), Contains("make 4 cells; got 3"));
  CHECK_THAT(refusal([](json& d) { d["cells"][1]["set"]["vm.vcpus"] = "3"; }),
             Contains("cells[1].set: the axes make no cell k=a vm.vcpus=3"));
  CHECK_THAT(refusal([](json& d) { d["cells"][1] = d["cells"][0]; }),
             Contains("cells[1].set: cell k=a vm.vcpus=1 twice"));
  CHECK_THAT(refusal([](json& d) { d["cells"][2]["metrics"].erase("faults"); }),
             Contains("cells[2].metrics.faults: missing"));
  CHECK_THAT(refusal([](json& d) { d["metrics"] = json::array(); }),
             Contains("metrics: the list is empty"));
}
