// SPDX-License-Identifier: Apache-2.0
// Cold CPUs: what work takes, whose time it is, and what makes a CPU cold or warm.
#include <catch2/catch.hpp>

#include "sched/hog.hpp"

using namespace sched_test;

namespace {

/// Cold after 20 ms; then 40 ms of work take 60 ms.
scheduler_options cold_start() {
  scheduler_options o;
  o.warmth = {milliseconds(20), milliseconds(40), 500};
  return o;
}

struct turn {
  duration work;
  duration period;  ///< from its begin to that of the next
};

/// How long each takes that runs alone.
std::vector<duration> times(const std::vector<turn>& turns) {
  host h(cold_start());
  std::vector<duration> out;
  // Each turn is a task of its own: what is warm is the CPU.
  sim_time at;
  for (const turn& r : turns) {
    h.spawn("t", at, [&out, r, at](task& t) {
      t.exec.run(account::user, r.work);
      out.push_back(t.exec.now() - at);
    });
    at += r.period;
  }
  h.machine.run();
  return out;
}

}  // namespace

TEST_CASE("work on a cold CPU takes longer by its cold part, once", "[sched]") {
  // 100 + 40 / 2; right after it none; after 20 ms of rest none; after more again, and a short one
  // is cold as a whole.
  CHECK(times({{milliseconds(100), {}}}) == std::vector{milliseconds(120)});
  CHECK(times({{milliseconds(100), milliseconds(120)}, {milliseconds(100), {}}}) ==
        std::vector{milliseconds(120), milliseconds(100)});
  CHECK(times({{milliseconds(100), milliseconds(140)}, {milliseconds(100), {}}}) ==
        std::vector{milliseconds(120), milliseconds(100)});
  CHECK(times({{milliseconds(100), milliseconds(140) + duration{1}}, {milliseconds(100), {}}}) ==
        std::vector{milliseconds(120), milliseconds(120)});
  CHECK(times({{milliseconds(10), {}}}) == std::vector{milliseconds(15)});
}

TEST_CASE("a short rest keeps what was warm", "[sched]") {
  // 10 of 40 ms are done in 15 ms; 10 ms later 30 are left.
  CHECK(times({{milliseconds(10), milliseconds(25)}, {milliseconds(100), {}}}) ==
        std::vector{milliseconds(15), milliseconds(115)});
  // A longer one does not: 40 again.
  CHECK(times({{milliseconds(10), milliseconds(36)}, {milliseconds(100), {}}}) ==
        std::vector{milliseconds(15), milliseconds(120)});
}

TEST_CASE("what a cold CPU takes longer is in the account of the work", "[sched]") {
  host h(cold_start());
  task& t = h.spawn("t", {}, [](task& me) {
    me.exec.run(account::user, milliseconds(30));
    me.exec.run(account::kernel, milliseconds(30));
    me.exec.run(account::user, milliseconds(1));
  });
  h.machine.run();
  CHECK(t.exec.accounts().in(account::user) == milliseconds(31 + 15));
  CHECK(t.exec.accounts().in(account::kernel) == milliseconds(30 + 5));
  CHECK(t.exec.accounts().total() == milliseconds(61 + 20));
  CHECK(h.ends.at(0).second == sim_time{} + milliseconds(61 + 20));
}

TEST_CASE("tasks that share a CPU warm it together", "[sched]") {
  host h(cold_start());
  for (const char* name : {"a", "b", "c"})
    h.spawn(name, {}, [](task& t) { t.exec.run(account::user, milliseconds(50)); });
  h.machine.run();
  CHECK(h.ends.back().second == sim_time{} + milliseconds(150 + 20));
  duration user;
  for (const auto& t : h.tasks) user += t->exec.accounts().in(account::user);
  CHECK(user == milliseconds(150 + 20));
  CHECK(h.tasks[0]->stops > 1);  // they took turns while it was cold
}

TEST_CASE("no picosecond is lost on a cold CPU, whatever the numbers", "[sched]") {
  scheduler_options o = cold_start();
  o.warmth.cold_permille = 333;
  host h(o);
  std::vector<duration> work;
  for (int i = 0; i < 5; ++i) {
    work.push_back(milliseconds(17 + i) + duration{7'919 * i + 1});
    h.spawn("t", sim_time{} + microseconds(i) * 7, [d = work.back()](task& t) {
      for (int part = 0; part < 3; ++part)
        t.exec.run(part == 1 ? account::kernel : account::user, d / 3);
    });
  }
  h.machine.run();
  duration warm;
  duration spent;
  for (std::size_t i = 0; i < work.size(); ++i) {
    warm += work[i] / 3 * 3;
    const ledger& a = h.tasks[i]->exec.accounts();
    spent += a.in(account::user) + a.in(account::kernel);
    const sim_time born = h.births[i].second;
    for (const auto& [who, end] : h.ends)
      if (who == h.tasks[i].get()) CHECK(a.total() == end - born);
  }
  CHECK(spent - warm == duration{40'000'000'000 / 1000 * 333});
  CHECK(h.ends.back().second == sim_time{} + spent);
}

TEST_CASE("the work done in a time is the most that does not take longer", "[sched]") {
  for (const std::uint32_t permille : {1U, 333U, 500U, 999U, 10000U}) {
    const warmth w({{}, duration{1000}, permille});
    for (std::int64_t ps = 0; ps < 15'000; ++ps) {
      const duration done = w.work_in(duration{ps});
      REQUIRE(w.time_for(done) <= duration{ps});
      REQUIRE(w.time_for(done + duration{1}) > duration{ps});
    }
    // In steps of 7 ps it comes to the same.
    warmth stepped({{}, duration{1000}, permille});
    duration done;
    for (std::int64_t ps = 0; ps < 15'000; ps += 7) {
      done += stepped.work_in(duration{7});
      stepped.ran(duration{7});
      REQUIRE(done == w.work_in(duration{ps + 7}));
    }
  }
}

TEST_CASE("spinning warms a CPU and is not slower", "[sched]") {
  host h(cold_start());
  task& t = h.spawn("t", {}, [](task& me) {
    CHECK(me.exec.spin(account::spin, milliseconds(30)) == milliseconds(30));
    me.exec.run(account::user, milliseconds(100));
  });
  h.machine.run();
  // 30 ms of a cold CPU are 20 ms of work; the other 20 take 30.
  CHECK(t.exec.accounts().in(account::spin) == milliseconds(30));
  CHECK(t.exec.accounts().in(account::user) == milliseconds(110));
}

TEST_CASE("without a warm-up or a slowness nothing is cold", "[sched]") {
  for (const warmth_options& w :
       {warmth_options{milliseconds(1), {}, 500}, warmth_options{{}, milliseconds(40), 0}}) {
    scheduler_options o;
    o.warmth = w;
    host h(o);
    CHECK(h.sched.warmth_of(cpu_index{0}) == nullptr);
    h.spawn("t", {}, [](task& t) { t.exec.run(account::user, milliseconds(100)); });
    h.machine.run();
    CHECK(h.ends.at(0).second == sim_time{} + milliseconds(100));
  }
}
