// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/pool.hpp"

#include <catch2/catch.hpp>
#include <mutex>
#include <stdexcept>

#include "fake.hpp"
#include "sim/experiment/batch.hpp"

using namespace hvsim;
using experiment::job;

TEST_CASE("the heaviest job starts first and equals keep their order", "[experiment]") {
  std::vector<int> started;
  std::vector<job> jobs;
  const std::vector<double> weights = {1, 5, 2, 5, 48};
  for (int i = 0; i < 5; ++i)
    jobs.push_back({weights[static_cast<std::size_t>(i)],
                    [&started, i](const auto&) { started.push_back(i); }});
  const auto states = experiment::run_jobs(jobs, {});
  CHECK(started == std::vector<int>{4, 1, 3, 2, 0});
  for (const auto& s : states) CHECK(s.finished);
}

TEST_CASE("an exception belongs to its job and stops no other", "[experiment]") {
  for (unsigned threads : {1U, 3U}) {
    std::atomic<int> done{0};
    std::vector<job> jobs(4, {1, [&](const auto&) { ++done; }});
    jobs[2].work = [](const auto&) { throw std::runtime_error("third"); };
    experiment::pool_options options;
    options.jobs = threads;
    const auto states = experiment::run_jobs(jobs, options);
    CHECK(done == 3);
    CHECK(states[1].finished);
    CHECK_FALSE(states[2].finished);
    REQUIRE(states[2].error);
    CHECK_THROWS_WITH(std::rethrow_exception(states[2].error), "third");
  }
}

TEST_CASE("a stop keeps what is finished and starts nothing more", "[experiment]") {
  std::atomic<bool> stop{false};
  std::vector<job> jobs(3, {1, [](const auto&) {}});
  jobs[1].work = [&](const auto&) {
    stop = true;
    throw std::runtime_error("asked to stop");
  };
  experiment::pool_options options;
  options.stop = &stop;
  const auto states = experiment::run_jobs(jobs, options);
  CHECK(states[0].finished);
  CHECK_FALSE(states[1].finished);
  CHECK_FALSE(states[1].error);
  CHECK_FALSE(states[2].finished);
}

TEST_CASE("progress counts weight, parts of jobs included", "[experiment]") {
  std::vector<double> fractions;
  experiment::pool_options options;
  options.progress = [&](const experiment::pool_progress& p) { fractions.push_back(p.fraction); };
  const std::vector<job> jobs = {{3, [](const auto& share) { share(0.5); }},
                                 {1, [](const auto&) {}}};
  experiment::run_jobs(jobs, options);
  // Half of 3 of 4, then 3 of 4, then all.
  CHECK(fractions == std::vector<double>{0.375, 0.75, 1.0});
}

TEST_CASE("a batch makes each run once, with results by index", "[experiment]") {
  for (unsigned threads : {1U, 4U}) {
    std::atomic<int> made{0};
    test::fake_runner runner;
    runner.dirty = [](const auto& s) { return std::int64_t{std::stoi(test::text_at(s, "n"))}; };
    runner.runs = &made;
    experiment::batch batch(test::fake_loader(), runner);
    std::vector<std::size_t> indices;
    for (int i = 0; i < 20; ++i)
      indices.push_back(batch.add("a.yaml", {"n=" + std::to_string(i % 10)}, i));
    CHECK(batch.size() == 10);
    CHECK(indices[13] == indices[3]);
    experiment::pool_options options;
    options.jobs = threads;
    const auto& outcomes = batch.run(options);
    CHECK(made == 10);
    for (std::size_t i = 0; i < 10; ++i) {
      REQUIRE(outcomes[i].result);
      CHECK(report::find_time(*outcomes[i].result, "dirty2")->ps() == static_cast<int>(i));
    }
    batch.run(options);
    CHECK(made == 10);
  }
}
