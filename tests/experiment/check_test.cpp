// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/check.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "fake.hpp"
#include "sim/report/atomic_file.hpp"

using namespace hvsim;
using namespace hvsim::experiment;
using Catch::Matchers::Contains;
using outcome = check_row::outcome;
using scenario::dimension;
using scenario::expectation;
using scenario::quantity;

namespace {

quantity seconds(std::int64_t ps, const std::string& text) {
  return {dimension::time, ps, static_cast<double>(ps), text};
}
quantity count(std::int64_t n) {
  return {dimension::count, n, static_cast<double>(n), std::to_string(n)};
}
quantity ratio(double r, const std::string& text) {
  return {dimension::ratio, 0, r, text};
}

expectation item(const std::string& what) {
  expectation e;
  e.name = e.what = what;
  return e;
}

/// 2 s a vCPU, 517 faults of which 512 in dirty2.
check_report made(const std::vector<expectation>& items, std::atomic<int>* runs = nullptr) {
  test::fake_runner runner;
  runner.dirty = [](const auto& s) {
    return 2'000'000'000'000 * std::stoll(test::text_at(s, "vm.vcpus"));
  };
  runner.runs = runs;
  return check({"f.yaml"}, {}, test::fake_loader(items), runner, {});
}

}  // namespace

TEST_CASE("exact counts, times with tolerance and bounds hold or miss", "[experiment]") {
  std::vector<expectation> items(8);
  items[0] = item("count.dirty2.fault");
  items[0].equals = count(512);
  items[1] = item("count.fault");
  items[1].equals = count(516);
  items[2] = item("time.dirty2");  // 2 s is exactly 25 % above 1.6 s
  items[2].value = seconds(1'600'000'000'000, "1.6s");
  items[2].tolerance_ppm = 250'000;
  items[3] = items[2];
  items[3].tolerance_ppm = 249'999;
  items[4] = item("faults");
  items[4].min = count(517);
  items[4].max = count(517);
  items[5] = item("faults");
  items[5].max = count(516);
  items[6] = item("faults");
  items[6].min = count(518);
  items[7] = item("fingerprint");
  items[7].equals = quantity{dimension::text, 0, 0, "0x0000000000000abc"};
  const check_report r = made(items);
  std::vector<bool> ok;
  for (const auto& row : r.rows) ok.push_back(row.result == outcome::ok);
  CHECK(ok == std::vector<bool>{true, false, true, false, true, false, false, true});
  CHECK_FALSE(r.ok());
  CHECK(r.rows[1].got == "517");
  CHECK(r.rows[1].expected == "== 516");
  CHECK(r.rows[2].expected == "1.6s +-25%");
  CHECK(r.rows[4].expected == "517 .. 517");
  CHECK_THAT(to_text(r), Contains("MISS") && Contains("4 ok, 4 missed, 0 broken"));
}

TEST_CASE("ratios look at two numbers of a run or at two runs", "[experiment]") {
  std::vector<expectation> items(3);
  items[0] = item("time.dirty2");  // 2 s over the populate pass of 1 s
  items[0].ratio_to = "time.populate";
  items[0].value = ratio(2, "2");
  items[1] = item("time.dirty2");  // 8 s over 2 s
  items[1].over = {{"vm.vcpus", "4"}};
  items[1].against = {{"vm.vcpus", "1"}};
  items[1].min = ratio(3.9, "3.9");
  items[1].max = ratio(4.1, "4.1");
  items[2] = items[1];
  items[2].max = ratio(3.95, "3.95");
  std::atomic<int> runs{0};
  const check_report r = made(items, &runs);
  CHECK(runs == 3);  // as written, with 4 and with 1 vCPUs; the third item makes none
  CHECK(r.rows[0].result == outcome::ok);
  CHECK(r.rows[1].result == outcome::ok);
  CHECK(r.rows[1].got == "4.0000");
  CHECK(r.rows[2].result == outcome::miss);
}

TEST_CASE("a selector that names nothing is broken and shows the known ones", "[experiment]") {
  expectation e = item("time.dirty3");
  e.equals = count(1);
  const check_report r = made({e});
  REQUIRE(r.rows.size() == 1);
  CHECK(r.rows[0].result == outcome::broken);
  CHECK_THAT(r.rows[0].message, Contains("did you mean 'time.dirty2' or 'time.populate'?"));
  CHECK_FALSE(r.ok());
  const auto cases = to_junit_cases(r);
  CHECK(cases[0].result == report::junit_case::outcome::error);
}

TEST_CASE("a file that does not parse is one broken row and the others go on", "[experiment]") {
  expectation e = item("faults");
  e.equals = count(517);
  test::fake_runner runner;
  runner.dirty = [](const auto&) { return std::int64_t{1}; };
  const check_report r = check({"missing.yaml", "f.yaml"}, {}, test::fake_loader({e}), runner, {});
  REQUIRE(r.rows.size() == 2);
  CHECK(r.rows[0].file == "missing.yaml");
  CHECK(r.rows[0].result == outcome::broken);
  CHECK(r.rows[1].result == outcome::ok);
}

TEST_CASE("a run that fails breaks its rows; an interrupt stops them", "[experiment]") {
  expectation e = item("faults");
  e.equals = count(517);
  test::fake_runner runner;
  runner.dirty = [](const auto&) -> std::int64_t { throw std::runtime_error("deadlock"); };
  const check_report failed = check({"f.yaml"}, {}, test::fake_loader({e}), runner, {});
  CHECK(failed.rows[0].result == outcome::broken);
  CHECK(failed.rows[0].message == "deadlock");
  std::atomic<bool> stop{true};
  pool_options pool;
  pool.stop = &stop;
  const check_report stopped = check({"f.yaml"}, {}, test::fake_loader({e}), runner, pool);
  CHECK(stopped.rows[0].result == outcome::stopped);
  CHECK_FALSE(stopped.ok());
}

TEST_CASE("folders give their scenarios with expectations, by path", "[experiment]") {
  namespace fs = std::filesystem;
  const fs::path dir = fs::temp_directory_path() / ("hvsim-check-" + std::to_string(::getpid()));
  fs::remove_all(dir);
  report::write_file(dir / "b.yaml", "expect: []\n");
  report::write_file(dir / "a" / "z.yml", "name: x\nexpect: []\n");
  report::write_file(dir / "profile.yaml", "name: x\n");
  report::write_file(dir / "broken.yaml", "a: [\n");
  report::write_file(dir / "notes.txt", "expect: []\n");
  const std::vector<std::string> expected = {
      (dir / "a" / "z.yml").string(), (dir / "b.yaml").string(), (dir / "broken.yaml").string()};
  CHECK(scenario_files({dir.string()}) == expected);
  CHECK(scenario_files({(dir / "profile.yaml").string()}).size() == 1);
  // What is not there is left to the loader, which knows more places.
  CHECK(scenario_files({(dir / "none").string()}) ==
        std::vector<std::string>{(dir / "none").string()});
  fs::remove_all(dir);
}
