// SPDX-License-Identifier: Apache-2.0
// CFS with the numbers of Linux 6.1: slices, shares, wake-ups, ticks.
#include <algorithm>
#include <catch2/catch.hpp>

#include "sched/hog.hpp"

using namespace sched_test;

namespace {

scheduler_options one_cpu() {
  scheduler_options o;
  o.cpus = 1;
  return o;
}

void check_books(const host& h) {
  for (const auto& [t, end] : h.ends) {
    const auto birth = std::find_if(h.births.begin(), h.births.end(),
                                    [who = t](const auto& b) { return b.first == who; });
    CAPTURE(t->exec.fiber().name(), (t->exec.accounts().total() - (end - birth->second)).ps());
    CHECK(t->exec.accounts().total() == end - birth->second);
  }
}

}  // namespace

TEST_CASE("scaled tunables of one and of eight CPUs") {
  // Factor 1 + log2(n), at most 4.
  CHECK(cfs(1, {}).effective().latency == milliseconds(6));
  CHECK(cfs(20, {}).effective().latency == milliseconds(24));
  CHECK(cfs(20, {}).effective().min_granularity == milliseconds(3));
  CHECK(cfs(20, {}).effective().wakeup_granularity == milliseconds(4));
}

TEST_CASE("two tasks of one CPU alternate by ticks and share it equally") {
  // Latency 6 ms, so a slice is 3 ms, and ticks of 4 ms make it 4 ms. START_DEBIT puts the second
  // task a slice behind. 39 ms each: the first ends after 18 slices and 3 ms.
  host h(one_cpu());
  for (int i = 0; i < 2; ++i)
    h.spawn("t" + std::to_string(i), sim_time{},
            [](task& t) { t.exec.run(account::user, milliseconds(39)); });
  h.machine.run();
  REQUIRE(h.ends.size() == 2);
  CHECK(h.ends[1].second - sim_time{} == milliseconds(78));
  CHECK(h.ends[0].second - sim_time{} == milliseconds(75));
  CHECK(h.tasks[0]->exec.accounts().in(account::user) == milliseconds(39));
  check_books(h);
}

TEST_CASE("a slice of many tasks is min_granularity, rounded up to a tick") {
  // Sixteen tasks: period 16 * 0.75 ms, slice 0.75 ms; a tick of 1 ms ends it.
  scheduler_options o = one_cpu();
  o.tick = milliseconds(1);
  host h(o);
  for (int i = 0; i < 16; ++i)
    h.spawn("t" + std::to_string(i), sim_time{},
            [](task& t) { t.exec.run(account::user, microseconds(9'500)); });
  h.machine.run();
  CHECK(h.ends.back().second - sim_time{} == milliseconds(152));
  // All 16 are within one round of each other at the end.
  CHECK(h.ends.back().second - h.ends.front().second < milliseconds(16));
  // Nine slices end by preemption, the tenth by leaving.
  CHECK(h.tasks.front()->stops == 10);
  check_books(h);
}

TEST_CASE("shares follow weights") {
  host h(one_cpu());
  task& heavy = h.spawn(
      "heavy", sim_time{}, [](task& t) { t.exec.run(account::user, milliseconds(300)); }, 2048);
  task& light =
      h.spawn("light", sim_time{}, [](task& t) { t.exec.run(account::user, milliseconds(300)); });
  h.machine.run();
  // When the heavy one ends after 300 ms of its own, the light one has had half of that, within
  // one slice of 4 ms.
  REQUIRE(h.ends[0].first == &heavy);
  const duration elapsed = h.ends[0].second - sim_time{};
  CHECK(elapsed >= milliseconds(446));
  CHECK(elapsed <= milliseconds(454));
  CHECK(light.exec.accounts().in(account::run_queue) == milliseconds(300));
  check_books(h);
}

TEST_CASE("a long sleeper preempts at once, a short one does not") {
  host h(one_cpu());
  task* sleeper = nullptr;
  sim_time woken;
  sim_time ran;
  h.spawn("hog", sim_time{}, [&](task& t) {
    t.exec.run(account::user, milliseconds(100));
    woken = t.exec.now();
    h.sched.wake(*sleeper, cpu_index{0}, woken);
    t.exec.run(account::user, milliseconds(100));
    t.exec.settle();
  });
  sleeper = &h.spawn("sleeper", sim_time{}, [&](task& t) {
    h.sched.block(t, t.exec.now());
    ran = t.exec.now();
    t.exec.run(account::user, milliseconds(1));
  });
  h.machine.run();
  // Placed half a latency (3 ms) behind, which is more than the wake-up granularity of 1 ms.
  CHECK(ran == woken);
  check_books(h);
}

TEST_CASE("ticks that are left out change nothing") {
  const auto run = [](bool always) {
    scheduler_options o;
    o.cpus = 4;
    o.always_tick = always;
    o.tick = milliseconds(1);
    o.switch_cost = microseconds(2);
    host h(o);
    for (std::uint64_t i = 0; i < 11; ++i)
      h.spawn("t" + std::to_string(i), sim_time{static_cast<std::int64_t>(i * i) * 700'000'000},
              [i](task& t) {
                for (std::uint64_t k = 0; k < 40; ++k)
                  t.exec.run(account::user, microseconds(static_cast<std::int64_t>(900 + 137 * i)));
              });
    // One that comes and goes.
    task* napper = nullptr;
    bool awake = true;
    napper = &h.spawn("napper", sim_time{}, [&](task& t) {
      for (int k = 0; k < 20; ++k) {
        t.exec.run(account::user, microseconds(700));
        h.sched.block(t, t.exec.now());
        t.exec.settle();
      }
      awake = false;
    });
    h.spawn("waker", sim_time{}, [&](task& t) {
      while (awake) {
        t.exec.run(account::user, microseconds(310));
        const sim_time now = t.exec.now();
        if (awake) h.sched.wake(*napper, cpu_index{0}, now);
      }
    });
    h.machine.run();
    check_books(h);
    std::vector<std::int64_t> out;
    for (const auto& [t, end] : h.ends) out.push_back(end.ps());
    out.push_back(static_cast<std::int64_t>(h.sched.switches()));
    return out;
  };
  CHECK(run(false) == run(true));
}
