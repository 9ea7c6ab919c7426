// SPDX-License-Identifier: Apache-2.0
// Threads that note their work as if they had a CPU each, and share one.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "sim/sched/cfs.hpp"
#include "sim/sched/policies.hpp"
#include "sim/sched/shared_cpus.hpp"

using namespace hvsim::engine;
using namespace hvsim::sched;

namespace {

/// An engine whose threads share CPUs.
struct host {
  explicit host(std::uint32_t cpus, preemption how = preemption::kernel,
                duration switch_cost = duration{})
      : clock(machine),
        scheduler(clock, make_policy("cfs", cpus), options(cpus, switch_cost)),
        sharing(machine, scheduler, how) {}

  static scheduler_options options(std::uint32_t cpus, duration switch_cost) {
    scheduler_options o;
    o.cpus = cpus;
    o.switch_cost = switch_cost;
    return o;
  }

  thread& spawn(const std::string& name, std::function<void(thread&)> body) {
    thread& t = machine.spawn(name, sim_time{}, [this, body = std::move(body)](thread& self) {
      sharing.resume(self);
      body(self);
      sharing.remove(self);
      ends.emplace_back(self.name(), self.now() - sim_time{});
    });
    sharing.add(t, {0, scheduler.cpus()}, [](cpu_index) {});
    return t;
  }

  hvsim::engine::engine machine;
  timers clock;
  hvsim::sched::scheduler scheduler;
  shared_cpus sharing;
  std::vector<std::pair<std::string, duration>> ends;
};

duration life(const thread& t) {
  duration sum;
  for (const duration d : t.parts()) sum += d;
  return sum;
}

}  // namespace

TEST_CASE(
    "two threads on one CPU take the sum of their works, and the rest of each life is steal") {
  // As two tasks of CFS: slices of 4 ms, 39 ms of work each.
  host h(1);
  std::vector<thread*> all;
  for (int i = 0; i < 2; ++i)
    all.push_back(&h.spawn("t" + std::to_string(i), [](thread& t) {
      for (int k = 0; k < 39; ++k) {
        t.advance(part::guest, milliseconds(1));
        if (k % 7 == 0) t.sync();
      }
    }));
  h.machine.run();
  REQUIRE(h.ends.size() == 2);
  CHECK(h.ends[0] == std::pair<std::string, duration>{"t0", milliseconds(75)});
  CHECK(h.ends[1] == std::pair<std::string, duration>{"t1", milliseconds(78)});
  CHECK(all[0]->time_in(part::steal) == milliseconds(36));
  CHECK(all[1]->time_in(part::steal) == milliseconds(39));
  for (const thread* t : all) CHECK(life(*t) == t->now() - sim_time{});
}

TEST_CASE("switches are paid") {
  // Work of 6 ms each: [0, 4], [4, 8] and two ends, with 100 us before each of four stretches. The
  // ticks stay at multiples of 4 ms, so the first two stretches do 3.9 ms each.
  host h(1, preemption::kernel, microseconds(100));
  for (int i = 0; i < 2; ++i)
    h.spawn("t" + std::to_string(i), [](thread& t) { t.advance(part::guest, milliseconds(6)); });
  h.machine.run();
  CHECK(h.ends[1].second == milliseconds(12) + microseconds(100) * 4);
  CHECK(h.scheduler.switches() == 4);
}

TEST_CASE("with a CPU for each thread nothing is stolen") {
  host h(2);
  for (int i = 0; i < 2; ++i)
    h.spawn("t" + std::to_string(i), [](thread& t) { t.advance(part::guest, milliseconds(39)); });
  h.machine.run();
  for (const auto& [name, end] : h.ends) CHECK(end == milliseconds(39));
}

TEST_CASE("a thread that spins keeps its CPU, one that sleeps gives it up") {
  // The second thread works for 39 ms. A first thread that parks as a spinner has a slice of 4 ms
  // before each of its ten stretches. One that sleeps takes nothing.
  for (const bool sleeps : {false, true}) {
    CAPTURE(sleeps);
    host h(1);
    thread* waits = nullptr;
    waits = &h.spawn("waits", [&](thread& t) {
      t.sync();
      if (sleeps) h.sharing.sleep(t);
      t.park(part::idle, "the other");
    });
    h.spawn("works", [&](thread& t) {
      t.advance(part::guest, milliseconds(39));
      t.sync();
      h.machine.wake(*waits, t.now());
    });
    h.machine.run();
    const duration worked = milliseconds(sleeps ? 39 : 79);
    for (const auto& [name, end] : h.ends)
      if (name == "works") CHECK(end == worked);
    CHECK(waits->time_in(part::idle) == worked);
  }
}

TEST_CASE("preemption that is disabled is put off to the enable; blind preemption is not") {
  for (const preemption how : {preemption::kernel, preemption::blind}) {
    host h(1, how);
    sim_time enabled;
    h.spawn("holder", [&](thread& t) {
      t.sync();
      h.sharing.disable_preemption(t);
      t.advance(part::guest, milliseconds(10));
      t.sync();
      enabled = t.now();
      CHECK(h.sharing.must_reschedule(t) == (how == preemption::kernel));
      h.sharing.enable_preemption(t);
      t.advance(part::guest, milliseconds(1));
    });
    h.spawn("other", [](thread& t) { t.advance(part::guest, milliseconds(2)); });
    h.machine.run();
    if (how == preemption::kernel) {
      // The slice was over at 4 ms; the other runs from 10 ms to 12 ms.
      CHECK(enabled - sim_time{} == milliseconds(10));
      CHECK(h.ends[0] == std::pair<std::string, duration>{"other", milliseconds(12)});
      CHECK(h.ends[1] == std::pair<std::string, duration>{"holder", milliseconds(13)});
    } else {
      CHECK(h.ends[0] == std::pair<std::string, duration>{"other", milliseconds(6)});
      CHECK(enabled - sim_time{} == milliseconds(12));
    }
  }
}

TEST_CASE("work whose length others change goes on where it was when the CPU comes back") {
  // Paused at 4 ms with 2 ms to go; the other thread has the CPU for 1 ms.
  struct pausing final : cpu_listener {
    void cpu_lost(thread&, sim_time now) override { lost.push_back(now - sim_time{}); }
    void cpu_got(thread&, sim_time) override {}
    std::vector<duration> lost;
  } p;
  host h(1);
  thread& t0 = h.spawn("works", [&](thread& t) {
    t.sync();
    const sim_time begin = t.now();
    h.sharing.wait_on_cpu(t, part::zeroing, begin + milliseconds(6), p);
    CHECK(t.now() - sim_time{} == milliseconds(4));
    t.sync();
    CHECK(t.now() - sim_time{} == milliseconds(5));
    h.sharing.wait_on_cpu(t, part::zeroing, t.now() + milliseconds(2), p);
  });
  h.spawn("other", [](thread& t) { t.advance(part::guest, milliseconds(1)); });
  h.machine.run();
  CHECK(p.lost == std::vector<duration>{milliseconds(4)});
  CHECK(t0.time_in(part::zeroing) == milliseconds(6));
  CHECK(t0.time_in(part::steal) == milliseconds(1));
}
