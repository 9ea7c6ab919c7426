// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/calibrate.hpp"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>

#include "fake.hpp"
#include "sim/experiment/catalogue.hpp"
#include "sim/experiment/reproduce_render.hpp"
#include "sim/scenario/parse.hpp"
#include "sim/scenario/units.hpp"

using namespace hvsim;
using namespace hvsim::experiment;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;

namespace {

/// A pass of 1000 faults: trap + vCPUs * hold each, and 5 us to start. Published with trap 300 ns
/// and hold 20 ns, the cell of 4 vCPUs kept from the fit.
constexpr const char* paper_text = R"(schema_version: 1
name: paper
title: A paper
source: somewhere
runs:
  first: {label: First, source: x}
tables:
  dirty:
    title: Dirty
    unit: s
    scenario: f.yaml
    time: dirty2
    x: {name: vCPUs, key: vm.vcpus, values: [1, 4, 16]}
    size: {key: size, value: 1000KiB}
    series:
      base:
        label: Base
        fitted: [1, 16]
        values: {first: [0.000325, 0.000385, 0.000625]}
)";

const std::vector<registry::parameter>& cost_table() {
  static const std::vector<registry::parameter> table = {
      {"machine.costs.trap", registry::value_type::time, "", ""},
      {"machine.costs.hold", registry::value_type::time, "", ""},
      {"machine.costs.zero", registry::value_type::time, "", ""}};
  return table;
}

loader with_costs(std::int64_t hold_max_ps) {
  return [hold_max_ps](const std::string& file, const std::vector<std::string>& sets) {
    scenario::scenario s = test::fake_loader()(file, sets);
    s.machine.name = "unit";
    using registry::cost_kind;
    const auto cost = [&](const std::string& key, cost_kind kind, std::int64_t value,
                          std::int64_t max) {
      scenario::cost_info info;
      info.key = key;
      info.kind = kind;
      info.source = "a \"source\"";
      info.min = 1'000;
      info.max = max;
      s.machine.costs.push_back(info);
      const auto set = s.texts.find(key);
      s.machine.values.set(key,
                           set == s.texts.end() ? value : *scenario::parse_time(set->second).value);
    };
    cost("machine.costs.trap", cost_kind::fitted, 100'000, 1'000'000);
    cost("machine.costs.hold", cost_kind::fitted, 5'000, hold_max_ps);
    cost("machine.costs.zero", cost_kind::published, 7'000, 9'000);
    return s;
  };
}

calibration made(std::int64_t hold_max_ps, calibrate_options options = {},
                 const std::string& text = paper_text) {
  test::fake_runner runner;
  runner.dirty = [](const scenario::scenario& s) {
    const std::string size = test::text_at(s, "size");
    const std::int64_t faults = size == "100KiB" ? 100 : size == "200KiB" ? 200 : 1000;
    return 5'000'000 + faults * (s.machine.values.integer("machine.costs.trap") +
                                 std::stoll(test::text_at(s, "vm.vcpus")) *
                                     s.machine.values.integer("machine.costs.hold"));
  };
  return calibrate(parse_published(text, "paper.yaml"), with_costs(hold_max_ps), runner,
                   cost_table(), options);
}

/// The same with a second published run.
std::string measured_twice() {
  std::string text = paper_text;
  const auto put = [&](const std::string& at, const std::string& more) {
    text.insert(text.find(at) + at.size(), more);
  };
  put("label: First, source: x}\n", "  second: {label: Second, source: y}\n");
  put("0.000625]", ", second: [0.000345, 0.000385, 0.000665]");
  return text;
}

}  // namespace

TEST_CASE("the fit finds the costs that made the published cells", "[experiment]") {
  for (std::int64_t scale : {1, 10}) {
    calibrate_options options;
    options.runs.scale = scale;
    const calibration c = made(100'000, options);
    REQUIRE(c.costs.size() == 2);
    CHECK(c.costs[0].value == Approx(300'000).epsilon(0.001));
    CHECK(c.costs[1].value == Approx(20'000).epsilon(0.001));
    CHECK(c.cells == 2);
    CHECK(c.degrees_of_freedom() == 0);
    CHECK_FALSE(c.on_bound());
    // At one vCPU the start is 110 of 325 us, at sixteen 185 of 625.
    CHECK(c.outside_at_start ==
          Approx(100 *
                 std::sqrt(((215.0 / 325) * (215.0 / 325) + (440.0 / 625) * (440.0 / 625)) / 2)));
    CHECK(c.outside < 0.1);
    // The cell that was kept back is predicted, at full size.
    CHECK(*c.after.tables[0].series[0].cells[1].value == Approx(0.000385).epsilon(0.001));
  }
}

TEST_CASE("a second published run makes intervals, and the fit ends in their middle",
          "[experiment]") {
  const calibration c = made(100'000, {}, measured_twice());
  // The middles are 335 and 645 us: 15 vCPUs * hold is 310 us in 1000 faults, and the rest is
  // 335 - 5 us less one hold.
  CHECK(c.costs[1].value == Approx(310'000.0 / 15).epsilon(0.001));
  CHECK(c.costs[0].value == Approx(330'000 - 310'000.0 / 15).epsilon(0.001));
  CHECK(c.outside == 0);
}

TEST_CASE("a cost that ends on its bound is a failure and is shown", "[experiment]") {
  const calibration c = made(15'000);
  CHECK(c.on_bound());
  CHECK(c.costs[1].at_bound);
  CHECK(c.costs[1].value == 15'000);
  CHECK_FALSE(c.costs[0].at_bound);
  CHECK_THAT(to_text(c), Contains("ON ITS BOUND") && Contains("failed: a fitted cost lies"));
}

TEST_CASE("the text has the lines for the profile and the cells not shown", "[experiment]") {
  const std::string text = to_text(made(100'000));
  CHECK_THAT(text, Contains("2 fitted costs, 2 published cells, 0 degrees of freedom"));
  CHECK_THAT(text, Contains("  hold: {value: 20ns, kind: fitted, min: 1ns, max: 100ns, source: "
                            "\"a 'source'\"}\n"));
  CHECK_THAT(text, Contains("predicted"));
}

TEST_CASE("a calibration as JSON and CSV", "[experiment]") {
  // 15 ns are below the 20 ns that made the cells, so hold ends on its bound.
  const calibration c = made(15'000);
  const auto doc = to_json(c);
  CHECK(doc["published_cells"] == 2);
  CHECK(doc["degrees_of_freedom"] == 0);
  CHECK(doc["interrupted"] == false);
  REQUIRE(doc["costs"].size() == 2);
  CHECK(
      doc["costs"][1].dump() ==
      R"({"name":"hold","min":"1ns","start":"5ns","fitted":"15ns","max":"15ns","at_bound":true})");
  CHECK(doc["cells"]["tables"].size() == 1);
  CHECK_THAT(to_csv(c), StartsWith("cost,min,start,fitted,max,at_bound\ntrap,1ns,100ns,") &&
                            EndsWith("\nhold,1ns,5ns,15ns,15ns,true\n"));
  calibrate_options options;
  options.report_cells = false;
  CHECK_FALSE(to_json(made(15'000, options)).contains("cells"));
}

TEST_CASE("a reproduction shows the fitted costs as a calibration does", "[experiment]") {
  test::fake_runner runner;
  runner.dirty = [](const auto&) { return std::int64_t{325'000'000}; };
  reproduce_options options;
  options.cost_table = cost_table();
  const published paper = parse_published(paper_text, "paper.yaml");
  const reproduction r = reproduce(paper, with_costs(100'000), runner, options);
  // Two of three cells may be used, and two of three costs are fitted.
  CHECK(r.setting.cells == 2);
  CHECK(r.setting.degrees_of_freedom() == 0);
  CHECK_THAT(to_text(r),
             Contains("Machine unit: 2 fitted costs, 2 published cells, 0 degrees of freedom\n"
                      "  cost  min  value    max\n"
                      "  trap  1ns  100ns    1us\n"
                      "  hold  1ns    5ns  100ns\n"));
  CHECK_THAT(to_markdown(r), Contains("2 fitted costs, 2 published cells, 0 degrees of freedom\n\n"
                                      "| cost | min | value | max |\n") &&
                                 Contains("| hold | 1ns | 5ns | 100ns |\n"));
  CHECK_THAT(to_json(r).dump(),
             Contains(R"("fitted_costs":{"machine":"unit","published_cells":2,)"
                      R"("degrees_of_freedom":0,"costs":[{"name":"trap","value":"100ns",)"));
  // As the run has them.
  options.sets = {"machine.costs.hold=7ns"};
  CHECK(reproduce(paper, with_costs(100'000), runner, options).setting.costs[1].value == 7'000);
  options.sets = {"machine.costs.hold=100ns"};  // on its bound
  CHECK_THAT(to_text(reproduce(paper, with_costs(100'000), runner, options)),
             Contains("0 degrees of freedom; not between its bounds: hold\n"));
  // A machine without fitted costs, or a comparison that nothing was fitted to, has none to show.
  CHECK_THAT(to_text(reproduce(paper, test::fake_loader(), runner, options)),
             !Contains("fitted costs"));
  std::string unfitted = paper_text;
  unfitted.replace(unfitted.find("[1, 16]"), 7, "[]");
  const reproduction none =
      reproduce(parse_published(unfitted, "p.yaml"), with_costs(100'000), runner, options);
  CHECK_THAT(to_text(none), !Contains("fitted costs"));
  CHECK_THAT(to_json(none).dump(), !Contains("fitted_costs"));
}

TEST_CASE("fitted costs of the machine profiles lie inside their bounds and are few",
          "[experiment]") {
  const registry::catalogue catalogue = builtin_catalogue();
  std::size_t profiles = 0;
  std::size_t most = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(HVSIM_SOURCE_DIR "/configs/machines")) {
    ++profiles;
    const std::string file = entry.path().string();
    INFO(file);
    const auto text = scenario::read_text(file);
    REQUIRE(text);
    const auto profile = scenario::parse_machine_text(*text.value, file, catalogue);
    REQUIRE(profile);
    const auto costs = fitted_costs_of(*profile.value, catalogue.costs);
    CHECK(costs.size() <= 12);
    most = std::max(most, costs.size());
    for (const fitted_cost& c : costs) {
      INFO(c.key);
      CHECK(c.min < c.value);
      CHECK(c.value < c.max);
    }
  }
  CHECK(profiles >= 6);
  CHECK(most >= 10);  // those of the published machine were looked at
}

TEST_CASE("what cannot be fitted is refused", "[experiment]") {
  calibrate_options options;
  options.costs = {"machine.costs.none"};
  CHECK_THROWS_WITH(made(100'000, options),
                    Contains("--cost: unknown cost 'none'; known: trap, hold, zero"));
  options.costs = {};
  options.runs.tables = {"other"};
  CHECK_THROWS_WITH(made(100'000, options),
                    Contains("--table: unknown table 'other'; known: dirty"));
  options.runs.tables = {};
  options.runs.sets = {"machine.costs.hold=3ns"};
  CHECK_THROWS_AS(made(100'000, options), usage_error);
}

TEST_CASE("a fit that is interrupted keeps the best costs and says so", "[experiment]") {
  std::atomic<bool> stop{false};
  calibrate_options options;
  options.runs.pool.stop = &stop;
  options.watch = [&](const fit_round&) { stop = true; };
  const calibration c = made(100'000, options, measured_twice());
  CHECK(c.fit.stopped);
  CHECK(c.fit.rounds == 1);
  CHECK(c.outside < c.outside_at_start);
  CHECK(c.after.tables.empty());
  CHECK_THAT(to_text(c), Contains("interrupted in round 2") && Contains("For the machine profile"));
  // Stopped when the fit is done.
  stop = false;
  options.watch = nullptr;
  options.runs.pool.progress = [&](const pool_progress&) { stop = true; };
  const calibration cells = made(100'000, options, measured_twice());
  CHECK_FALSE(cells.fit.stopped);
  CHECK_FALSE(cells.after.complete());
  CHECK_THAT(to_text(cells), Contains("the fit is whole, the cells are not"));
  // Before the start is judged there is nothing to keep.
  CHECK_THROWS_AS(made(100'000, options), interrupted);
}

TEST_CASE("the progress of a fit goes up to at most 1", "[experiment]") {
  std::vector<double> shares;
  calibrate_options options;
  options.fit_progress = [&](double share) { shares.push_back(share); };
  bool cells = false;
  options.runs.pool.progress = [&](const pool_progress&) { cells = true; };
  (void)made(100'000, options);
  REQUIRE(shares.size() > 10);
  CHECK(std::is_sorted(shares.begin(), shares.end()));
  CHECK(shares.back() <= 1);
  CHECK(cells);
  options.max_rounds = 1;
  shares.clear();
  (void)made(100'000, options);
  CHECK(shares.back() > 0.7);  // the start and the whole round; a candidate may come twice
}
