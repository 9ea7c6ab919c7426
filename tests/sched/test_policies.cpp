// SPDX-License-Identifier: Apache-2.0
// What every policy must hold, and the rules of EEVDF and of the credit scheduler in numbers.
#include <algorithm>
#include <catch2/catch.hpp>

#include "sched/hog.hpp"
#include "sim/sched/credit.hpp"
#include "sim/sched/eevdf.hpp"

using namespace sched_test;

namespace {

scheduler_options one_cpu(duration tick) {
  scheduler_options o;
  o.cpus = 1;
  o.tick = tick;
  return o;
}

struct row {
  std::string policy;
  duration tick;
  duration slice;  ///< of one CPU, in whole ticks
};

// CFS with three tasks: a third of 6 ms, in ticks of 1 ms one more for "longer than". EEVDF: 0.75
// ms.
const std::vector<row> rows{{"cfs", milliseconds(1), milliseconds(3)},
                            {"eevdf", milliseconds(1), milliseconds(1)},
                            {"credit", milliseconds(10), milliseconds(30)}};

/// A task that sleeps from the start on and runs `work` whenever it is woken.
struct napper {
  task* who = nullptr;
  std::vector<duration> ran;  ///< when it got on

  void add(host& h, duration work, std::size_t times) {
    who = &h.spawn("napper", sim_time{}, [this, &h, work, times](task& t) {
      for (std::size_t i = 0; i < times; ++i) {
        h.sched.block(t, t.exec.now());
        ran.push_back(t.exec.now() - sim_time{});
        t.exec.run(account::user, work);
      }
    });
  }
};

}  // namespace

TEST_CASE("every registered policy has a row here") {
  const auto kinds = register_builtin_policies();
  REQUIRE(kinds.size() == rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) CHECK(kinds[i].name == rows[i].policy);
  CHECK_THROWS_AS(make_policy("round-robin", 1), std::invalid_argument);
}

TEST_CASE("equal tasks share a CPU equally, within one slice") {
  for (const row& r : rows) {
    CAPTURE(r.policy);
    host h(one_cpu(r.tick), r.policy);
    constexpr int tasks = 3;
    const duration work = milliseconds(500);
    for (int i = 0; i < tasks; ++i)
      h.spawn("t" + std::to_string(i), sim_time{},
              [work](task& t) { t.exec.run(account::user, work); });
    h.machine.run();
    CHECK(h.ends.back().second - sim_time{} == work * tasks);
    // When the first ends the others have as much as it, within a slice each.
    const duration first = h.ends.front().second - sim_time{};
    CHECK(first >= work * tasks - r.slice * (tasks - 1));
    for (const auto& t : h.tasks) CHECK(t->exec.accounts().in(account::user) == work);
  }
}

TEST_CASE("twice the weight is twice the share, within one slice") {
  for (const row& r : rows) {
    CAPTURE(r.policy);
    host h(one_cpu(r.tick), r.policy);
    task& heavy = h.spawn(
        "heavy", sim_time{}, [](task& t) { t.exec.run(account::user, milliseconds(600)); }, 2048);
    h.spawn("light", sim_time{}, [](task& t) { t.exec.run(account::user, milliseconds(600)); });
    h.machine.run();
    REQUIRE(h.ends[0].first == &heavy);
    const duration light_had = h.ends[0].second - sim_time{} - milliseconds(600);
    CHECK(light_had >= milliseconds(300) - r.slice);
    CHECK(light_had <= milliseconds(300) + r.slice);
  }
}

TEST_CASE("no policy leaves a CPU idle while another has two tasks to run for long") {
  for (const row& r : rows) {
    CAPTURE(r.policy);
    scheduler_options o = one_cpu(r.tick);
    o.cpus = 4;
    host h(o, r.policy);
    for (int i = 0; i < 8; ++i)
      h.spawn("t" + std::to_string(i), sim_time{},
              [](task& t) { t.exec.run(account::user, milliseconds(400)); });
    h.machine.run();
    CHECK(h.ends.back().second - sim_time{} >= milliseconds(800));
    CHECK(h.ends.back().second - sim_time{} <= milliseconds(800) + r.slice * 2);
  }
}

TEST_CASE("EEVDF: the base slice of one and of eight CPUs") {
  CHECK(eevdf(1, {}).effective().base_slice == microseconds(750));
  CHECK(eevdf(24, {}).effective().base_slice == milliseconds(3));
}

TEST_CASE("EEVDF: half a request at first, then requests in turn") {
  // Ticks of 250 us: the first requests of 375 us end at 500 us, all later ones of 750 us exactly.
  // The first task runs [0, 0.5], [1, 1.75], [2.5, 3.25], [4, 4.75], [5.5, 6.25] and [7, 7.7]; the
  // other has 0.7 ms left then.
  host h(one_cpu(microseconds(250)), "eevdf");
  for (int i = 0; i < 2; ++i)
    h.spawn("t" + std::to_string(i), sim_time{},
            [](task& t) { t.exec.run(account::user, microseconds(4'200)); });
  h.machine.run();
  CHECK(h.ends[0].first == h.tasks[0].get());
  CHECK(h.ends[0].second - sim_time{} == microseconds(7'700));
  CHECK(h.ends[1].second - sim_time{} == microseconds(8'400));
  CHECK(h.tasks[0]->stops == 6);
}

TEST_CASE("EEVDF: who has had its share waits for the end of a request, who has not does not") {
  host h(one_cpu(milliseconds(1)), "eevdf");
  napper n;
  n.add(h, microseconds(100), 2);
  h.spawn("hog", sim_time{}, [&](task& t) {
    t.exec.run(account::user, milliseconds(10));
    h.sched.wake(*n.who, cpu_index{0}, t.exec.now());  // at 10 ms: the request is long used up
    t.exec.run(account::user, microseconds(200));
    h.sched.wake(*n.who, cpu_index{0}, t.exec.now());  // at 10.3 ms, with 0.55 ms to go
    t.exec.run(account::user, milliseconds(10));
  });
  h.machine.run();
  // The napper ran 100 us beyond its share; the request ends at the tick of 11 ms.
  CHECK(n.ran == std::vector<duration>{milliseconds(10), milliseconds(11)});
}

TEST_CASE("EEVDF: a yield puts off the deadline by a request") {
  // Tasks of equal virtual time; the one that yields at once runs only after the other's request.
  host h(one_cpu(microseconds(250)), "eevdf");
  task* first = nullptr;
  std::vector<duration> on;
  first = &h.spawn("yields", sim_time{}, [&](task& t) {
    t.exec.run(account::user, microseconds(100));
    h.sched.yield(t, t.exec.now());
    on.push_back(t.exec.now() - sim_time{});
    t.exec.run(account::user, milliseconds(1));
  });
  h.spawn("other", sim_time{}, [&](task& t) { t.exec.run(account::user, milliseconds(3)); });
  h.machine.run();
  // The other's first request of 375 us, from 100 us on, ends at the tick of 500 us. The deadline
  // of the one that yielded has gone from 375 us of virtual time to 1125 us, so it does its 1 ms in
  // one stretch.
  REQUIRE(on.size() == 1);
  CHECK(on[0] == microseconds(500));
  CHECK(first->stops == 2);
  CHECK(h.ends[0] == std::pair<task*, sim_time>{first, sim_time{} + microseconds(1'500)});
}

TEST_CASE("credit: a boosted wake-up preempts, but nobody before its first millisecond") {
  host h(one_cpu(milliseconds(10)), "credit");
  napper n;
  n.add(h, microseconds(100), 2);
  h.spawn("hog", sim_time{}, [&](task& t) {
    t.exec.run(account::user, milliseconds(5));
    h.sched.wake(*n.who, cpu_index{0}, t.exec.now());  // at 5 ms
    t.exec.run(account::user, microseconds(400));      // on again from 5.1 ms on
    h.sched.wake(*n.who, cpu_index{0}, t.exec.now());  // at 5.5 ms
    t.exec.run(account::user, milliseconds(5));
  });
  h.machine.run();
  CHECK(n.ran == std::vector<duration>{milliseconds(5), microseconds(6'100)});
}

TEST_CASE("credit: slices of 30 ms") {
  host h(one_cpu(milliseconds(10)), "credit");
  for (int i = 0; i < 2; ++i)
    h.spawn("t" + std::to_string(i), sim_time{},
            [](task& t) { t.exec.run(account::user, milliseconds(299)); });
  h.machine.run();
  // Ten slices each, in turn.
  CHECK(h.ends[0].second - sim_time{} == milliseconds(569));
  CHECK(h.ends[1].second - sim_time{} == milliseconds(598));
  CHECK(h.tasks[0]->stops == 10);
}

TEST_CASE("credit: the scheduler stops accounting when nobody is about") {
  // A run that waits for nobody ends in a deadlock report, not in endless ticks.
  host h(one_cpu(milliseconds(10)), "credit");
  h.spawn("waits", sim_time{}, [&](task& t) {
    t.exec.run(account::user, milliseconds(100));
    h.sched.block(t, t.exec.now());
    t.exec.settle();
  });
  CHECK_THROWS_AS(h.machine.run(), deadlock_error);
}
