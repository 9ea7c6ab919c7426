// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/reproduce.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "fake.hpp"
#include "sim/experiment/reproduce_render.hpp"

using namespace hvsim;
using namespace hvsim::experiment;
using Catch::Matchers::Contains;

namespace {

constexpr const char* paper_text = R"(schema_version: 1
name: paper
title: A paper
source: somewhere
placement: {key: vm.placement, values: [compact, spread]}
runs:
  first: {label: First, source: x}
  second: {label: Second, source: y}
tables:
  dirty:
    title: Dirty
    unit: s
    scenario: f.yaml
    time: dirty2
    x: {name: vCPUs, key: vm.vcpus, values: [1, 2]}
    size: {key: vm.size, value: 4GiB}
    compare: {baseline: base, changed: better}
    series:
      base:
        label: Base
        set: {kernel: old}
        fitted: [1]
        values: {first: [2.0, 4.0], second: [2.5, null]}
      better:
        label: Better
        set: {kernel: new}
        fitted: []
        values: {first: [1.0, null]}
  prefault:
    title: Prefault
    unit: ms
    scenario: f.yaml
    time: populate
    x: {name: vCPUs, key: vm.vcpus, values: [1, 2]}
    series:
      base:
        label: Base
        set: {kernel: old}
        fitted: []
        values: {first: [500, 1000]}
)";

/// Old kernel: 2.2 s a vCPU and one more percent a seed; new: 1.1 s. Spread placement adds 1 s.
std::int64_t formula(const scenario::scenario& s) {
  const std::int64_t vcpus = std::stoll(test::text_at(s, "vm.vcpus"));
  const std::int64_t seed = std::stoll(test::text_at(s, "seed"));
  std::int64_t ps = test::text_at(s, "kernel") == "old"
                        ? 2'200'000'000'000 * vcpus * (99 + seed) / 100
                        : 1'100'000'000'000;
  if (test::text_at(s, "vm.placement") == "spread") ps += 1'000'000'000'000;
  if (test::text_at(s, "vm.size") == "1GiB") ps /= 4;
  return ps;
}

reproduction made(const reproduce_options& options, std::atomic<int>* runs = nullptr) {
  test::fake_runner runner;
  runner.dirty = formula;
  runner.runs = runs;
  return reproduce(parse_published(paper_text, "paper.yaml"), test::fake_loader(), runner, options);
}

}  // namespace

TEST_CASE("tables share runs, cells without a published value are not run", "[experiment]") {
  std::atomic<int> runs{0};
  const reproduction r = made({}, &runs);
  // old at 1 and 2 serve both tables; new at 1; new at 2 was never published.
  CHECK(runs == 3);
  CHECK(r.planned_runs == 3);
  CHECK(r.complete());
  REQUIRE(r.tables.size() == 2);
  CHECK(r.tables[0].series[1].cells.size() == 1);
  CHECK(r.runs[0].name == "dirty.base.1.compact.seed1");
}

TEST_CASE("errors, roles and speed-up follow by hand from the formula", "[experiment]") {
  const reproduction r = made({});
  const auto& base = r.tables[0].series[0].cells;
  // 2.2 s: +10 % of 2.0, -12 % of 2.5, inside [2.0, 2.5]. 4.4 s: +10 % of 4.0, which is alone.
  CHECK(*base[0].run_errors[0] == Approx(10));
  CHECK(*base[0].run_errors[1] == Approx(-12));
  CHECK(*base[0].outside == 0);
  CHECK(base[0].role == cell_role::fitted);
  CHECK(*base[1].outside == Approx(10));
  CHECK_FALSE(base[1].run_errors[1].has_value());
  const error_summary all = series_errors(r.tables[0].series[0], std::nullopt, std::nullopt);
  CHECK(all.cells == 2);
  CHECK(all.mean == Approx(5));
  CHECK(series_errors(r.tables[0].series[0], cell_role::predicted, std::nullopt).mean ==
        Approx(10));
  CHECK(series_errors(r.tables[0].series[0], std::nullopt, 1).cells == 1);
  const speed_up s = speed_up_at(r.paper, r.tables[0], 0);
  CHECK(*s.simulated == Approx(2));
  CHECK(*s.published[0] == Approx(2));
  CHECK_FALSE(s.published[1].has_value());
  CHECK_FALSE(speed_up_at(r.paper, r.tables[0], 1).simulated.has_value());
  // Of rates more is better; of what is neither, nothing is faster.
  published other = r.paper;
  other.tables[0].unit = table_unit::other;
  other.tables[0].unit_name = "MB/s";
  CHECK(*speed_up_at(other, r.tables[0], 0).simulated == Approx(0.5));
  CHECK(*speed_up_at(other, r.tables[0], 0).published[0] == Approx(0.5));
  other.tables[0].unit_name = "%";
  CHECK_FALSE(speed_up_at(other, r.tables[0], 0).simulated.has_value());
  // The populate pass takes 1 s: in milliseconds, against 500.
  CHECK(*r.tables[1].series[0].cells[0].value == 1000);
  CHECK(*r.tables[1].series[0].cells[0].run_errors[0] == Approx(100));
  CHECK(base[0].breakdown[0].name == "lock_wait");
}

TEST_CASE("the CSV has one row a cell in the promised columns", "[experiment]") {
  CHECK(to_csv(made({})) ==
        "table,series,x,published,simulated,error_percent,role\n"
        "dirty,base,1,2.0,2.200000,10.00,fitted\n"
        "dirty,base,2,4.0,4.400000,10.00,predicted\n"
        "dirty,better,1,1.0,1.100000,10.00,predicted\n"
        "prefault,base,1,500,1000.000,100.00,predicted\n"
        "prefault,base,2,1000,1000.000,0.00,predicted\n");
}

TEST_CASE("any number of jobs gives the same bytes", "[experiment]") {
  reproduce_options options;
  options.placements = {"compact", "spread"};
  options.seeds = 3;
  const reproduction one = made(options);
  options.pool.jobs = 4;
  const reproduction four = made(options);
  CHECK(to_text(one) == to_text(four));
  CHECK(to_csv(one) == to_csv(four));
  CHECK(to_markdown(one) == to_markdown(four));
  CHECK(to_json(one).dump() == to_json(four).dump());
}

TEST_CASE("seeds that move a cell by more than 2 percent mark it", "[experiment]") {
  reproduce_options options;
  options.seeds = 2;  // the formula moves 1 % a seed
  CHECK_THAT(to_text(made(options)), !Contains(" !\n") && Contains("1.0%"));
  options.seeds = 4;
  const reproduction r = made(options);
  CHECK(r.tables[0].series[0].cells[0].seed_spread == Approx(3));
  CHECK(*r.tables[0].series[0].cells[0].value == Approx(2.2));
  CHECK_THAT(to_text(r), Contains("3.0% !"));
}

TEST_CASE("each placement has its tables and the CSV shows the first", "[experiment]") {
  reproduce_options options;
  options.placements = {"spread", "compact"};
  const reproduction r = made(options);
  REQUIRE(r.tables.size() == 4);
  CHECK(*r.tables[0].series[0].cells[0].value == Approx(3.2));
  CHECK(*r.tables[2].series[0].cells[0].value == Approx(2.2));
  CHECK_THAT(to_csv(r),
             Contains("dirty,base,1,2.0,3.200000,60.00,fitted") && !Contains("2.200000"));
}

TEST_CASE("a scaled run is multiplied back", "[experiment]") {
  reproduce_options options;
  options.scale = 4;
  options.tables = {"dirty"};
  const reproduction r = made(options);
  CHECK(*r.tables[0].series[0].cells[1].value == Approx(4.4));
}

TEST_CASE("a correction is left out of a scaled run, and the text says so", "[experiment]") {
  std::string text = paper_text;
  text.insert(
      text.find("  prefault:\n"),
      "      corrected:\n        label: Base, corrected\n        corrects: base\n"
      "        set: {kernel: old}\n        fitted: [1]\n        values: {first: [2.0, null]}\n");
  const test::fake_runner run{formula};
  reproduce_options options;
  const published paper = parse_published(text, "paper.yaml");
  const reproduction full = reproduce(paper, test::fake_loader(), run, options);
  CHECK(full.tables[0].series.size() == 3);
  CHECK_THAT(to_text(full), !Contains("Left out"));
  options.scale = 4;
  options.placements = {"compact", "spread"};
  const reproduction r = reproduce(paper, test::fake_loader(), run, options);
  CHECK(r.tables[0].series.size() == 2);
  CHECK_THAT(to_text(r), Contains("Left out, because fixed times do not shrink with the size: "
                                  "Base, corrected (dirty).\n"));
}

TEST_CASE("the note of the Markdown tables says what a star means", "[experiment]") {
  CHECK_THAT(to_markdown(made({})),
             Contains("| 1 | 2.0 | 2.200 * | +10.0 %") &&
                 Contains("\n\\* setting the costs may use this cell; every other cell is a "
                          "prediction, not used.\n"));
}

TEST_CASE("failed and interrupted runs leave holes, not numbers", "[experiment]") {
  test::fake_runner runner;
  runner.dirty = [](const auto& s) -> std::int64_t {
    if (test::text_at(s, "kernel") == "new") throw std::runtime_error("deadlock");
    return formula(s);
  };
  const published paper = parse_published(paper_text, "paper.yaml");
  const reproduction r = reproduce(paper, test::fake_loader(), runner, {});
  CHECK_FALSE(r.complete());
  REQUIRE(r.failures.size() == 1);
  CHECK(r.failures[0] == "dirty.better.1.compact.seed1: deadlock");
  CHECK_THAT(to_csv(r), !Contains("better"));
  CHECK_THAT(to_text(r), Contains("2 of 3 runs finished") && Contains("failed: dirty.better.1"));

  std::atomic<bool> stop{true};
  reproduce_options options;
  options.pool.stop = &stop;
  const reproduction none = made(options);
  CHECK(none.runs.empty());
  CHECK(none.failures.empty());
  CHECK(to_csv(none) == "table,series,x,published,simulated,error_percent,role\n");
  CHECK_THAT(to_text(none), Contains("0 of 3 runs finished"));
}

TEST_CASE("names that do not exist are refused with the nearest", "[experiment]") {
  reproduce_options options;
  options.tables = {"dirti"};
  CHECK_THROWS_WITH(made(options),
                    Contains("--table: unknown table 'dirti'; did you mean 'dirty'? known: dirty"));
  options.tables = {};
  options.placements = {"packed"};
  CHECK_THROWS_WITH(made(options), Contains("--placement: unknown placement 'packed'; known: ") &&
                                       Contains("compact, spread"));
}

TEST_CASE("the folder holds tables, runs and a plot of each table", "[experiment]") {
  namespace fs = std::filesystem;
  const fs::path dir = fs::temp_directory_path() / ("hvsim-repro-" + std::to_string(::getpid()));
  reproduce_options options;
  options.placements = {"compact", "spread"};
  write_files(made(options), dir);
  for (const char* file :
       {"paper.txt", "paper.md", "paper.csv", "paper.json", "runs.csv", "dirty.svg",
        "dirty.spread.svg", "prefault.svg", "runs/dirty.base.2.spread.seed1.json"})
    CHECK(fs::exists(dir / file));
  CHECK(std::distance(fs::directory_iterator(dir / "runs"), {}) == 6);
  fs::remove_all(dir);
}

TEST_CASE("a cell can be the mean of its seeds", "[experiment]") {
  published paper = parse_published(paper_text, "paper.yaml");
  paper.mean_of_seeds = 3;
  const test::fake_runner run{[](const scenario::scenario& s) {
    return std::stoll(test::text_at(s, "seed")) * 1'000'000'000'000;
  }};
  const reproduction r = reproduce(paper, test::fake_loader(), run, {});
  const reproduced_cell& c = r.tables[0].series[0].cells[0];
  CHECK(*c.value == Approx(2));  // of 1, 2 and 3 s
  CHECK(c.simulated->ps() == 2'000'000'000'000);
  CHECK(c.seed_spread == Approx(200));
  CHECK_THAT(to_text(r), Contains("3 runs a cell, tables show their mean"));
}

TEST_CASE("an override of one cell reaches that cell alone, and a note is shown", "[experiment]") {
  std::string text = paper_text;
  text.replace(text.find("        fitted: [1]\n"), 0, "        set_by_x: {vm.extra: [null, 7]}\n");
  text.replace(
      text.find("    series:\n      base:\n        label: Base\n        set: {kernel: old}\n"), 0,
      "    notes: {2: two is odd}\n");
  const test::fake_runner run{[](const scenario::scenario& s) {
    return test::text_at(s, "vm.extra") == "7" ? 7'000'000'000'000 : 1'000'000'000'000;
  }};
  const reproduction r =
      reproduce(parse_published(text, "paper.yaml"), test::fake_loader(), run, {});
  const auto& cells = r.tables[0].series[0].cells;
  CHECK(*cells[0].value == Approx(1));
  CHECK(*cells[1].value == Approx(7));
  CHECK_THAT(to_text(r), Contains("  2 [1]") && Contains("[1] two is odd"));
  reproduce_options options;
  options.sets = {"vm.extra=1"};
  CHECK_THROWS_AS(reproduce(parse_published(text, "paper.yaml"), test::fake_loader(), run, options),
                  usage_error);
}
