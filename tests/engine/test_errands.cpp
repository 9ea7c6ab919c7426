// SPDX-License-Identifier: Apache-2.0
// Errands: shared steps that the engine carries out without the fiber of their thread.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "sim/engine/engine.hpp"

using namespace hvsim;
using engine::duration;
using engine::part;
using engine::sim_time;
using engine::thread;

using strings = std::vector<std::string>;

namespace {
/// Steps `gap` apart that append the thread's name and time.
struct walk final : engine::errand {
  strings* order;
  int left;
  int gap;
  walk(strings* o, int n, int g) : order(o), left(n), gap(g) {}
  bool step(thread& t) override {
    order->push_back(t.name() + std::to_string(t.now().ps()));
    t.advance(part::guest, duration{gap});
    return --left != 0;
  }
};
}  // namespace

TEST_CASE("an errand's steps happen in the order of time, without their fiber") {
  engine::engine e;
  strings order;
  e.spawn("a", sim_time{}, [&](thread& t) {
    walk w(&order, 3, 10);
    t.run(w);
    CHECK(t.now() == sim_time{30});
    order.push_back("a back");  // private: nobody need be asked
    t.sync();
    order.push_back("a30");
  });
  e.spawn("b", sim_time{5}, [&](thread& t) {
    walk w(&order, 2, 10);
    t.run(w);
    t.sync();
    order.push_back("b25");
  });
  e.spawn("c", sim_time{12}, [&](thread& t) {
    for (int i = 0; i < 3; ++i) {
      t.sync();
      order.push_back("c" + std::to_string(t.now().ps()));
      t.advance(part::guest, duration{6});
    }
  });
  e.run();
  CHECK(order ==
        strings{"a0", "b5", "a10", "c12", "b15", "c18", "a20", "a back", "c24", "b25", "a30"});
  CHECK(e.threads()[0]->time_in(part::guest) == duration{30});
}

TEST_CASE("many threads: errands and syncs take the same turns") {
  // The same steps, on errands for some threads and on fibers for others.
  const auto run = [](unsigned on_errands) {
    engine::engine e;
    strings order;
    for (unsigned i = 0; i < 20; ++i) {
      e.spawn(std::string(1, static_cast<char>('a' + i)), sim_time{static_cast<int>(i * 7 % 5)},
              [&order, i, on_errands](thread& t) {
                const int gap = static_cast<int>(3 + i * 5 % 11);
                for (int round = 0; round < 4; ++round) {
                  walk w(&order, 5, gap);
                  if ((on_errands >> i & 1) != 0) {
                    t.run(w);
                  } else {
                    do t.sync();
                    while (w.step(t));
                  }
                  t.advance(part::guest, duration{static_cast<int>(i)});
                }
              });
    }
    e.run();
    return order;
  };
  const strings fibers = run(0);
  CHECK(fibers.size() == 400);
  CHECK(run(0xfffff) == fibers);
  CHECK(run(0x5a5a5) == fibers);
}

TEST_CASE("an errand ends where a step needs the fiber, and other threads may be woken by one") {
  engine::engine e;
  strings order;
  thread* sleeper = nullptr;
  struct waker final : engine::errand {
    thread** whom;
    strings* order;
    int calls = 0;
    bool step(thread& t) override {
      if (++calls == 2) return false;
      order->push_back("wakes");
      t.owner().wake(**whom, t.now() + duration{1});
      t.advance(part::guest, duration{50});
      return true;
    }
  };
  e.spawn("s", sim_time{}, [&](thread& t) {
    sleeper = &t;
    t.park(part::idle, "a waker");
    order.push_back("woken" + std::to_string(t.now().ps()));
  });
  e.spawn("w", sim_time{4}, [&](thread& t) {
    waker w;
    w.whom = &sleeper;
    w.order = &order;
    t.run(w);
    order.push_back("fiber" + std::to_string(t.now().ps()));
  });
  e.run();
  CHECK(order == strings{"wakes", "woken5", "fiber54"});
}
