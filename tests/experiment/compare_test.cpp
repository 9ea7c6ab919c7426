// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/compare.hpp"

#include <catch2/catch.hpp>

#include "fake.hpp"
#include "sim/report/errors.hpp"

using namespace hvsim;
using namespace hvsim::experiment;
using Catch::Matchers::Contains;

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
                    Contains("no metric 'time.dirty3'; did you mean 'time.dirty2'?") &&
                        Contains("time.populate") && !Contains("breakdown"));
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
  const comparison stored =
      comparison_from_json(nlohmann::ordered_json::parse(to_json(now).dump()));
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

TEST_CASE("other documents are no baseline", "[experiment]") {
  using json = nlohmann::ordered_json;
  CHECK_THROWS_AS(comparison_from_json(json::object()), report::input_error);
  json document = to_json(two_by_two());
  document["schema_version"] = 9;
  CHECK_THROWS_WITH(comparison_from_json(document), Contains("schema_version"));
  document = to_json(two_by_two());
  document.erase("cells");
  CHECK_THROWS_AS(comparison_from_json(document), report::input_error);
}
