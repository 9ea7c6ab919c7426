// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/check/explorers.hpp"
#include "sim/engine/engine.hpp"

using namespace hvsim;
using engine::duration;
using engine::part;
using engine::sim_time;
using engine::thread;

using strings = std::vector<std::string>;

TEST_CASE("shared steps happen in the order of time, ties by thread id") {
  engine::engine e;
  strings order;
  const auto stepper = [&](std::vector<int> times) {
    return [&order, times](thread& t) {
      for (const int at : times) {
        t.advance_to(part::guest, sim_time{at});
        t.sync();
        order.push_back(t.name() + std::to_string(t.now().ps()));
      }
    };
  };
  e.spawn("a", sim_time{}, stepper({5, 10, 30}));
  e.spawn("b", sim_time{}, stepper({1, 10, 20, 30}));
  e.spawn("c", sim_time{7}, stepper({7, 8, 9}));
  e.run();
  CHECK(order == strings{"b1", "a5", "c7", "c8", "c9", "a10", "b10", "b20", "a30", "b30"});
}

TEST_CASE("private work runs ahead until the next sync") {
  engine::engine e;
  strings order;
  e.spawn("a", sim_time{}, [&](thread& t) {
    t.advance(part::guest, duration{100});
    order.push_back("a private");
    t.sync();
    order.push_back("a shared");
  });
  e.spawn("b", sim_time{}, [&](thread& t) {
    CHECK(e.horizon() == sim_time{100});
    t.advance(part::guest, duration{50});
    t.sync();
    order.push_back("b shared");
  });
  e.run();
  CHECK(order == strings{"a private", "b shared", "a shared"});
}

TEST_CASE("a lone thread notices that it is stopped, and that time has run out") {
  const auto lone = [](std::atomic<bool>* stop, duration step) {
    engine::engine e;
    e.set_stop_flag(stop);
    e.spawn(
        "waits", sim_time{}, [](thread& t) { t.park(part::idle, "nobody"); }, true);
    e.spawn("lone", sim_time{}, [step](thread& t) {
      for (int i = 0; i < 100'000; ++i) {
        t.advance(part::guest, step);
        t.sync();
      }
    });
    e.run();
  };
  std::atomic<bool> stop = true;
  CHECK_THROWS_AS(lone(&stop, engine::microseconds(1)), engine::interrupted);
  CHECK_THROWS_AS(lone(nullptr, engine::seconds(1)), engine::time_overflow);
}

TEST_CASE("park, wake and the accounts of both") {
  engine::engine e;
  thread* sleeper = nullptr;
  sim_time woken;
  sleeper = &e.spawn("sleeper", sim_time{}, [&](thread& t) {
    t.advance(part::guest, duration{10});
    t.sync();
    t.park(part::mmu_lock_wait, "a test");
    woken = t.now();
    t.advance(part::trap, duration{1});
  });
  e.spawn("waker", sim_time{}, [&](thread& t) {
    t.advance(part::guest, duration{70});
    t.sync();
    CHECK(engine::engine::parked(*sleeper));
    e.wake(*sleeper, t.now() + duration{5});
  });
  e.run();
  CHECK(woken == sim_time{75});
  CHECK(sleeper->time_in(part::guest) == duration{10});
  CHECK(sleeper->time_in(part::mmu_lock_wait) == duration{65});
  duration sum;
  for (const duration d : sleeper->parts()) sum += d;
  CHECK(sum == sleeper->now() - sim_time{});
}

TEST_CASE("a wake in the past does not move a clock back") {
  engine::engine e;
  thread& sleeper = e.spawn("sleeper", sim_time{50}, [&](thread& t) {
    t.park(part::idle, "a test");
    CHECK(t.now() == sim_time{50});
  });
  e.spawn("waker", sim_time{60}, [&](thread&) { e.wake(sleeper, sim_time{20}); });
  e.run();
}

TEST_CASE("an owner that is woken runs before threads with earlier clocks") {
  engine::engine e;
  strings order;
  thread& owner = e.spawn("owner", sim_time{}, [&](thread& t) {
    t.park(part::idle, "a lock");
    order.push_back("owner " + std::to_string(t.now().ps()));
    t.advance(part::guest, duration{10});
    t.sync();
    order.push_back("owner " + std::to_string(t.now().ps()));
  });
  e.spawn("releaser", sim_time{20}, [&](thread& t) {
    e.wake_owner(owner, sim_time{100});
    t.sync();
    order.push_back("releaser");
  });
  e.spawn("other", sim_time{50}, [&](thread& t) {
    t.sync();
    order.push_back("other");
  });
  e.run();
  CHECK(order == strings{"owner 100", "releaser", "other", "owner 110"});
}

TEST_CASE("the end of a wait can be moved both ways") {
  for (const int end : {40, 200}) {
    engine::engine e;
    thread& waiter = e.spawn("waiter", sim_time{}, [&](thread& t) {
      t.wait_until(part::zeroing, sim_time{100});
      CHECK(t.now() == sim_time{end});
      CHECK(t.time_in(part::zeroing) == duration{end});
    });
    e.spawn("mover", sim_time{30}, [&](thread& t) {
      t.sync();
      e.move_wait(waiter, sim_time{end});
    });
    e.run();
  }
}

TEST_CASE("a deadlock names every thread and what it waits for") {
  engine::engine e;
  e.spawn("alice", sim_time{3}, [](thread& t) { t.park(part::idle, "the red lock"); });
  e.spawn("bob", sim_time{4}, [](thread& t) { t.park(part::idle, "the blue lock"); });
  e.spawn("done", sim_time{}, [](thread&) {});
  e.spawn(
      "helper", sim_time{}, [](thread& t) { t.park(part::idle, "work"); }, true);
  std::string message;
  try {
    e.run();
  } catch (const engine::deadlock_error& error) {
    message = error.what();
  }
  CHECK(message.find("alice waits for the red lock since 3 ps") != std::string::npos);
  CHECK(message.find("bob waits for the blue lock since 4 ps") != std::string::npos);
  CHECK(message.find("done") == std::string::npos);
  CHECK(message.find("helper") == std::string::npos);
}

TEST_CASE("what a body throws reaches run, and the other fibers are unwound") {
  struct guard {
    bool& gone;
    ~guard() { gone = true; }
  };
  bool gone = false;
  {
    engine::engine e;
    e.spawn("waits", sim_time{}, [&](thread& t) {
      const guard g{gone};
      t.park(part::idle, "nobody");
    });
    e.spawn("throws", sim_time{10}, [](thread& t) {
      t.sync();
      throw std::domain_error("from a fiber");
    });
    CHECK_THROWS_AS(e.run(), std::domain_error);
    CHECK(gone);
  }
}

TEST_CASE("a stop flag ends a run that would not end") {
  engine::engine e;
  std::atomic<bool> stop{false};
  unsigned beats = 0;
  e.set_stop_flag(&stop);
  e.set_heartbeat([&] {
    if (++beats == 2) stop = true;
  });
  const auto spin = [](thread& t) {
    for (;;) {
      t.advance(part::guest, duration{1});
      t.sync();
    }
  };
  e.spawn("a", sim_time{}, spin);
  e.spawn("b", sim_time{}, spin);
  CHECK_THROWS_AS(e.run(), engine::interrupted);
  CHECK(beats >= 2);
  CHECK(e.switches() >= 2 * 4096);
}

TEST_CASE("time that an event key cannot hold is an error") {
  engine::engine e;
  const auto spin = [](thread& t) {
    for (;;) {
      t.advance(part::guest, engine::milliseconds(200));
      t.sync();
    }
  };
  e.spawn("a", sim_time{}, spin);
  e.spawn("b", sim_time{}, spin);
  CHECK_THROWS_AS(e.run(), engine::time_overflow);
}

TEST_CASE("daemons do not keep a run alive, and bodies may spawn") {
  engine::engine e;
  unsigned served = 0;
  thread& daemon = e.spawn(
      "daemon", sim_time{},
      [&](thread& t) {
        for (;;) {
          t.park(part::idle, "work");
          ++served;
        }
      },
      true);
  e.spawn("parent", sim_time{5}, [&](thread& t) {
    t.sync();
    for (int i = 0; i < 3; ++i)
      e.spawn("child", t.now() + duration{10}, [&](thread& c) {
        c.sync();
        if (engine::engine::parked(daemon)) e.wake(daemon, c.now());
        c.advance(part::guest, duration{1});
        c.sync();
      });
  });
  e.run();
  CHECK(served >= 1);
  CHECK(e.threads().size() == 5);
}

TEST_CASE("what lies on the stacks of threads that did not end is destroyed") {
  struct on_stack {
    std::vector<int>& log;
    int n;
    ~on_stack() { log.push_back(n); }
  };
  std::vector<int> destroyed;
  const auto parks = [&](int n) {
    return [&destroyed, n](thread& t) {
      const on_stack outer{destroyed, n};
      const on_stack inner{destroyed, n + 1};
      t.park(part::idle, "nothing");
      destroyed.push_back(-1);
    };
  };
  SECTION("daemons, after a run") {
    engine::engine e;
    e.spawn("daemon", sim_time{}, parks(10), true);
    e.spawn("worker", sim_time{}, [](thread& t) { t.sync(); });
    e.run();
    CHECK(destroyed == std::vector<int>{11, 10});
  }
  SECTION("all, after a failure, whether they have begun or not") {
    engine::engine e;
    e.spawn("begun", sim_time{}, parks(10));
    e.spawn("failing", sim_time{1}, [](thread& t) {
      t.sync();
      throw std::invalid_argument("planted");
    });
    e.spawn("not begun", sim_time{1000}, parks(20));
    CHECK_THROWS_AS(e.run(), std::invalid_argument);
    CHECK(destroyed == std::vector<int>{11, 10});
  }
  SECTION("an engine that never ran") {
    {
      engine::engine e;
      e.spawn("not begun", sim_time{}, parks(10));
    }
    CHECK(destroyed.empty());
  }
}

TEST_CASE("a thousand threads take turns") {
  engine::engine e;
  std::vector<int> order;
  for (int i = 0; i < 1000; ++i)
    e.spawn("t", sim_time{i % 7}, [&order, i](thread& t) {
      t.sync();
      order.push_back((i % 7) * 1000 + i);
      t.advance(part::guest, duration{100});
      t.sync();
      order.push_back(100'000 + (i % 7) * 1000 + i);
    });
  e.run();
  REQUIRE(order.size() == 2000);
  CHECK(std::is_sorted(order.begin(), order.end()));
  engine::engine full;
  for (int i = 0; i < 1023; ++i) full.spawn("t", sim_time{}, [](thread&) {});
  CHECK_THROWS_AS(full.spawn("one too many", sim_time{}, [](thread&) {}), engine::too_many_threads);
}

namespace {

/// Two threads of two shared steps each; the order of the steps as text.
std::string two_by_two(engine::chooser& c) {
  engine::engine e(&c);
  std::string order;
  for (const char name : {'A', 'B'})
    e.spawn(std::string(1, name), sim_time{}, [&order, name](thread& t) {
      for (int i = 0; i < 2; ++i) {
        t.sync();
        order += name;
      }
    });
  e.run();
  return order;
}

}  // namespace

TEST_CASE("the exhaustive explorer sees every interleaving once") {
  check::exhaustive_explorer all(64);
  std::set<std::string> orders;
  unsigned runs = 0;
  do {
    orders.insert(two_by_two(all));
    ++runs;
  } while (all.next_run());
  CHECK(orders == std::set<std::string>{"AABB", "ABAB", "ABBA", "BAAB", "BABA", "BBAA"});
  // Each thread is moved three times (to its first step, its second, its end): 6! / (3! 3!).
  CHECK(runs == 20);

  check::exhaustive_explorer bounded(1);
  orders.clear();
  do {
    orders.insert(two_by_two(bounded));
  } while (bounded.next_run());
  CHECK(orders == std::set<std::string>{"AABB", "BBAA"});
}

TEST_CASE("random and PCT explorers reach every interleaving and repeat by seed") {
  for (const bool pct : {false, true}) {
    std::set<std::string> orders;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      check::random_explorer walk(seed, 2), walk_again(seed, 2);
      check::pct_explorer priorities(seed, 3, 6), priorities_again(seed, 3, 6);
      const std::string order = pct ? two_by_two(priorities) : two_by_two(walk);
      CHECK(order == (pct ? two_by_two(priorities_again) : two_by_two(walk_again)));
      orders.insert(order);
    }
    CHECK(orders.size() == 6);
  }
}

TEST_CASE("PCT leaves a thread that spins on another one") {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    check::pct_explorer c(seed, 0, 10);
    engine::engine e(&c);
    bool done = false;
    e.spawn("spins", sim_time{}, [&](thread& t) {
      while (!done) t.sync();
    });
    e.spawn("works", sim_time{}, [&](thread& t) {
      t.sync();
      done = true;
    });
    e.run();
    CHECK(done);
  }
}

TEST_CASE("the exhaustive explorer notices code that depends on something else") {
  check::exhaustive_explorer c(8);
  (void)two_by_two(c);
  REQUIRE(c.next_run());
  engine::engine e(&c);
  for (int i = 0; i < 3; ++i) e.spawn("t", sim_time{1}, [](thread& t) { t.sync(); });
  CHECK_THROWS_AS(e.run(), std::logic_error);
}
