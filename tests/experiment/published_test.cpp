// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/published.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

#include "sim/experiment/source.hpp"

using namespace hvsim::experiment;
using Catch::Matchers::Contains;

namespace {

published load(const std::string& name) {
  const std::string path = std::string(HVSIM_SOURCE_DIR) + "/configs/published/" + name;
  std::ifstream in(path, std::ios::binary);
  REQUIRE(in);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return parse_published(text, path);
}

const published_table& table(const published& p, const std::string& key) {
  for (const auto& t : p.tables)
    if (t.key == key) return t;
  FAIL("no table " << key);
  return p.tables.front();
}

std::size_t fitted(const published_table& t, const std::string& series) {
  const auto& roles = t.find(series)->roles;
  return static_cast<std::size_t>(std::count(roles.begin(), roles.end(), cell_role::fitted));
}

constexpr const char* small = R"(schema_version: 1
name: n
title: t
source: s
runs:
  a: {label: A, source: x}
tables:
  one:
    title: One
    unit: s
    scenario: f.yaml
    time: dirty2
    x: {name: X, key: vm.vcpus, values: [1, 2]}
    series:
      base:
        label: Base
        fitted: [1]
        values: {a: [1.50, null]}
)";

std::string with(const std::string& from, const std::string& to) {
  std::string text = small;
  text.replace(text.find(from), from.size(), to);
  return text;
}

}  // namespace

TEST_CASE("the stage-2 comparison has the published figures", "[experiment]") {
  const published p = load("stage2-parallel-faults.yaml");
  const published_table& dirty = table(p, "dirty_log_time_s");
  CHECK(dirty.xs == std::vector<std::int64_t>{1, 2, 4, 8, 16, 32, 48});
  // kvmarm list, 16 April 2022 and 30 August 2022: the rows of 48 vCPUs.
  const auto& rc2 = *dirty.find("linux_5_18_rc2");
  const auto& series = *dirty.find("linux_5_18_rc2_series");
  CHECK(rc2.values[0][6]->text == "29.15");
  CHECK(rc2.values[1][6]->value == 31.39);
  CHECK(series.values[0][6]->text == "6.28");
  CHECK(series.values[1][6]->value == 6.22);
  CHECK_FALSE(rc2.values[2][6].has_value());
  // Shown to the fit: four of the dirty-log rows in both series, two of prefault, two of each 7.3.
  CHECK(fitted(dirty, "linux_5_18_rc2") == 4);
  CHECK(fitted(dirty, "linux_5_18_rc2_series") == 4);
  const published_table& prefault = table(p, "prefault_time_s");
  CHECK(fitted(prefault, "linux_5_18_rc2") == 0);
  CHECK(fitted(prefault, "linux_5_18_rc2_series") == 2);
  CHECK(prefault.find("linux_5_18_rc2_corrected")->corrects == "linux_5_18_rc2");
  const published_table& fast = table(p, "fast_path_ms");
  CHECK(fast.unit == table_unit::milliseconds);
  CHECK(fitted(fast, "baseline") == 2);
  CHECK(fitted(fast, "fast_path") == 2);
  CHECK_FALSE(fast.find("fast_path")->values[2][1].has_value());
  CHECK(fast.find("fast_path")->values[2][6]->value == 12190);
}

TEST_CASE("jobs per minute follow from the parent time", "[experiment]") {
  // 101 jobs a child and 60 s a minute: 6060 * processes / parent time, as rounded in print.
  const published p = load("pv-qspinlock-reaim.yaml");
  const published_table& parent = table(p, "parent_time_s");
  const published_table& rate = table(p, "jobs_per_minute");
  std::size_t compared = 0;
  for (const auto& s : parent.series)
    for (std::size_t x = 0; x < parent.xs.size(); ++x) {
      const auto& seconds = s.values[0][x];
      const auto& jobs = rate.find(s.key)->values[0][x];
      REQUIRE(seconds.has_value() == jobs.has_value());
      if (!seconds) continue;
      ++compared;
      CHECK(6060.0 * static_cast<double>(parent.xs[x]) / seconds->value ==
            Approx(jobs->value).epsilon(1e-6));
    }
  CHECK(compared == 26);
}

TEST_CASE("the CPU time that is given is the published one", "[experiment]") {
  // (SysTime + UTime) / processes, to 0.1 ms.
  const published p = load("pv-qspinlock-reaim.yaml");
  const published_table& given = table(p, "jobs_per_minute_given_cpu");
  std::size_t compared = 0;
  for (const auto& s : given.series)
    for (std::size_t x = 0; x < given.xs.size(); ++x) {
      const auto& system = table(p, "child_systime_s").find(s.key)->values[0][x];
      const auto& user = table(p, "child_utime_s").find(s.key)->values[0][x];
      REQUIRE(s.cell_sets[x].size() == (user ? 1 : 0));
      if (!user) continue;
      ++compared;
      const double ms = 1000 * (system->value + user->value) / static_cast<double>(given.xs[x]);
      const std::string& set = s.cell_sets[x][0];
      REQUIRE(set.rfind("workload.child_cpu_time=", 0) == 0);
      CHECK(std::stod(set.substr(set.find('=') + 1)) == Approx(ms).margin(0.051));
    }
  CHECK(compared == 26);
}

TEST_CASE("what was printed is kept as printed, and holes stay holes", "[experiment]") {
  const published p = parse_published(small, "small.yaml");
  const auto& s = p.tables.at(0).series.at(0);
  CHECK(s.values[0][0]->text == "1.50");
  CHECK_FALSE(s.values[0][1].has_value());
  CHECK(s.roles == std::vector<cell_role>{cell_role::fitted, cell_role::predicted});
}

TEST_CASE("a wrong table is refused with the place and the reason", "[experiment]") {
  CHECK_THROWS_WITH(parse_published(with("1.50, null", "1.50"), "f.yaml"),
                    Contains("f.yaml:18") && Contains("list of 2 values"));
  CHECK_THROWS_WITH(parse_published(with("fitted: [1]", "fitted: [3]"), "f.yaml"),
                    Contains("3 is no value of x"));
  CHECK_THROWS_WITH(parse_published(with("{a: [", "{b: ["), "f.yaml"), Contains("no such run"));
  CHECK_THROWS_WITH(parse_published(with("    unit: s", "    units: s"), "f.yaml"),
                    Contains("'unit' is missing") && Contains("did you mean 'unit'?"));
  CHECK_THROWS_WITH(parse_published(with("1.50", "x"), "f.yaml"), Contains("values"));
  CHECK_THROWS_WITH(parse_published(with("1.50", "-1.50"), "f.yaml"),
                    Contains("f.yaml:18") && Contains("cannot be negative; got -1.50"));
  CHECK_THROWS_WITH(parse_published(with("fitted: [1]", "set_by_x: {a: [1]}"), "f.yaml"),
                    Contains("list of 2 values"));
  CHECK_THROWS_WITH(
      parse_published(with("    unit: s", "    unit: s\n    notes: {3: x}"), "f.yaml"),
      Contains("3 is no value of x"));
  CHECK_THROWS_WITH(
      parse_published(with("schema_version: 1", "schema_version: 1\nmean_of_seeds: 0"), "f.yaml"),
      Contains("between 1 and 1000"));
  CHECK_THROWS_AS(parse_published("", "f.yaml"), config_error);
}
