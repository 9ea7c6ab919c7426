// SPDX-License-Identifier: Apache-2.0
// What guest locks cost where arithmetic says it.
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "guest/world.hpp"

using namespace guest_test;
using locks::lock_event;
using sched::account;
using sched::cpu_range;

namespace {

std::vector<std::uint32_t> one_core_each(std::uint32_t n) {
  std::vector<std::uint32_t> cores(n);
  std::iota(cores.begin(), cores.end(), 0U);
  return cores;
}

/// CPU 0 has a lock for 20 ms; `waiters` others come one after the other, 1 us apart, and give up
/// spinning long before. Leaves the world after the run.
void queue_behind(world& w, std::uint32_t waiters) {
  kernel& k = w.guest->os();
  spinlock& l = k.make_lock("l");
  for (std::uint32_t c = 0; c <= waiters; ++c)
    k.start("t" + std::to_string(c), sim_time{},
            [&l, c](task& t) {
              t.exec.run(account::kernel, microseconds(c));
              l.lock(t);
              t.exec.run(account::kernel, c == 0 ? milliseconds(20) : microseconds(1));
              l.unlock(t);
            },
            {c, 1});
  w.run(one_core_each(waiters + 1));
}

std::uint64_t seen(const world& w, lock_event e) {
  return w.guest->os().lock_events()[static_cast<std::size_t>(e)];
}

/// Waits of arrivals at the times of a Poisson process on 16 CPUs in turn, in ns.
std::vector<double> waits(const std::string& lock, std::size_t arrivals, double mean_gap_ns,
                          duration hold) {
  constexpr std::uint32_t cpus = 16;
  world w(cpus, cpus, free_backend(), lock);
  kernel& k = w.guest->os();
  spinlock& l = k.make_lock("l");
  random_stream random(1, 7);
  std::vector<sim_time> when(arrivals);
  double at = 0;
  for (sim_time& t : when) {
    at -= std::log((static_cast<double>(random.next() >> 11) + 0.5) / 0x1p53) * mean_gap_ns;
    t = sim_time{} + duration{static_cast<std::int64_t>(at * 1000)};
  }
  std::vector<double> out(arrivals);
  for (std::uint32_t c = 0; c < cpus; ++c)
    k.start("t" + std::to_string(c), sim_time{},
            [&, c](task& t) {
              for (std::size_t i = c; i < when.size(); i += cpus) {
                const sim_time now = t.exec.now();
                if (when[i] > now) t.exec.run(account::user, when[i] - now);
                const sim_time came = t.exec.now();
                l.lock(t);
                out[i] = static_cast<double>((t.exec.now() - came).ps()) / 1000;
                t.exec.run(account::kernel, hold);
                l.unlock(t);
              }
            },
            {c, 1});
  w.run(one_core_each(cpus));
  return out;
}

struct estimate {
  double mean;
  double error;  ///< standard error of the mean
};

/// By the means of 50 consecutive batches, which are long against the correlation of waits.
estimate batch_means(const std::vector<double>& x) {
  constexpr std::size_t batches = 50;
  const std::size_t size = x.size() / batches;
  std::vector<double> means;
  for (std::size_t b = 0; b < batches; ++b) {
    const auto first = x.begin() + static_cast<std::ptrdiff_t>(b * size);
    means.push_back(std::accumulate(first, first + static_cast<std::ptrdiff_t>(size), 0.0) /
                    static_cast<double>(size));
  }
  const double mean = std::accumulate(means.begin(), means.end(), 0.0) / batches;
  double squares = 0;
  for (const double m : means) squares += (m - mean) * (m - mean);
  return {mean, std::sqrt(squares / (batches - 1) / batches)};
}

}  // namespace

TEST_CASE("k halted waiters cost k kicks") {
  for (const std::uint32_t waiters : {1U, 2U, 5U, 9U}) {
    CAPTURE(waiters);
    backend b = free_backend();
    b.kick = microseconds(3);
    b.kick_is_kept = true;
    world queued(waiters + 1, waiters + 1, b, "pv-qspinlock");
    queue_behind(queued, waiters);
    CHECK(seen(queued, lock_event::pv_kick_unlock) == waiters);
    CHECK(seen(queued, lock_event::pv_kick_wake) == waiters);
    CHECK(queued.guest->os().ended().in(account::hypercall) == microseconds(3) * waiters);

    world tickets(waiters + 1, waiters + 1, b, "pv-ticket");
    queue_behind(tickets, waiters);
    CHECK(seen(tickets, lock_event::released_slow_kicked) == waiters);
    CHECK(seen(tickets, lock_event::taken_slow) == waiters);
    CHECK(tickets.guest->os().ended().in(account::hypercall) == microseconds(3) * waiters);
  }
}

TEST_CASE("a first-come-first-served lock under Poisson arrivals waits as M/D/1 does") {
  // Pollaczek and Khinchine: with service D and load r the mean wait is r D / (2 (1 - r)). Moving
  // the lock's lines, at most 15 ns each and four a turn, comes on top of D and of the wait.
  constexpr double hold_ns = 10'000;
  constexpr double lines_ns = 60;
  const auto wait = [](double service, double gap) {
    const double load = service / gap;
    return load * service / (2 * (1 - load));
  };
  for (const char* lock : {"ticket", "qspinlock"})
    for (const double load : {0.3, 0.6}) {
      CAPTURE(lock, load);
      const double gap = hold_ns / load;
      const estimate e = batch_means(waits(lock, 100'000, gap, nanoseconds(10'000)));
      CAPTURE(e.mean, e.error);
      CHECK(e.error < 0.03 * e.mean);
      CHECK(e.mean > wait(hold_ns, gap) - 4 * e.error);
      CHECK(e.mean < wait(hold_ns + lines_ns, gap) + lines_ns + 4 * e.error);
    }
}

TEST_CASE("two threads on a test-and-set lock: who asks within a line transfer keeps it") {
  // Who releases and asks again at once has its request for the line in before the spinner, which
  // sees the release only when its copy has come, can ask. Later it comes second.
  const auto repeats = [](duration think) {
    world w(2, 2, free_backend(), "test-and-set");
    kernel& k = w.guest->os();
    spinlock& l = k.make_lock("l");
    constexpr int turns = 1000;
    std::vector<std::uint32_t> order;
    for (std::uint32_t c = 0; c < 2; ++c)
      k.start("t" + std::to_string(c), sim_time{},
              [&, c](task& t) {
                for (int i = 0; i < turns; ++i) {
                  l.lock(t);
                  order.push_back(c);
                  t.exec.run(account::kernel, microseconds(1));
                  l.unlock(t);
                  t.exec.run(account::kernel, think);
                }
              },
              {c, 1});
    w.run({0, 1});
    REQUIRE(order.size() == 2 * turns);
    int same = 0;
    for (std::size_t i = 1; i < order.size(); ++i)
      if (order[i] == order[i - 1]) ++same;
    return same;
  };
  CHECK(repeats(duration{}) == 1998);     // one after the other: a single change of owner
  CHECK(repeats(nanoseconds(500)) == 0);  // in turn
}

TEST_CASE("an interrupt to another vCPU is paid for by its sender, one to the own vCPU is none") {
  for (const std::uint32_t at : {0U, 1U}) {
    backend b = free_backend();
    b.ipi = microseconds(3);
    world w(2, 2, b, "qspinlock");
    kernel& k = w.guest->os();
    bool go = false;
    task* sleeper = &k.start("sleeper", sim_time{},
                             [&](task& t) {
                               t.exec.settle();
                               while (!go) k.sleep(t);
                             },
                             {0, 1});
    k.start("waker", sim_time{},
            [&](task& t) {
              t.exec.run(account::user, milliseconds(1));
              t.exec.settle();
              go = true;
              k.wake(t, *sleeper);
            },
            {at, 1});
    w.run({0, 1});
    CHECK(k.ended().in(account::exit) == (at == 0 ? duration{} : microseconds(3)));
  }
}

TEST_CASE("a guest sees stolen time as its own unless it has a steal clock") {
  hog h;  // outlives the scheduler
  world w(2, 2, free_backend(), "qspinlock");
  task* worker = &w.guest->os().start(
      "worker", sim_time{}, [](task& t) { t.exec.run(account::user, milliseconds(20)); }, {0, 1});
  w.clock.arm(w.clock.add([&](sim_time) { w.add_hog(h, 0); }), sim_time{} + nanoseconds(500));
  w.run({0, 1});
  // Slices of 8 ms in turn, as in the test of a preempted holder: 16 of 36 ms are stolen.
  CHECK(worker->times(true).user == milliseconds(20));
  CHECK(worker->times(false).user == milliseconds(36));
}
