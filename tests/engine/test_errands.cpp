// SPDX-License-Identifier: Apache-2.0
// Errands: shared steps that the engine carries out without the fiber of their thread.
#include <catch2/catch.hpp>
#include <cstdint>
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

namespace {
enum class how : std::uint8_t { on_fiber, errand, errand_with_loop };

/// What the threads of one run do: steps that append, and now and then wake a sleeping thread.
struct play {
  strings order;
  std::vector<thread*> sleepers;
  void step(thread& t, int left, int gap) {
    order.push_back(t.name() + std::to_string(t.now().ps()));
    thread& whom = *sleepers[static_cast<std::size_t>(left + gap) % sleepers.size()];
    if (left % 3 == 1 && engine::engine::parked(whom))
      t.owner().wake(whom, t.now() + duration{left * gap % 4 * 5});
    t.advance(part::guest, duration{gap * (left % 5)});
  }
};

struct plain_steps final : engine::errand {
  play& in;
  int left;
  int gap;
  plain_steps(play& p, int n, int g) : in(p), left(n), gap(g) {}
  bool step(thread& t) override {
    in.step(t, left, gap);
    return --left != 0;
  }
};

struct steps_with_loop final : engine::errand {
  struct next_step {
    int left;
  };
  play& in;
  int left;
  int gap;
  steps_with_loop(play& p, int n, int g)
      : errand(engine::engine::turns_of<steps_with_loop>), in(p), left(n), gap(g) {}
  [[nodiscard]] next_step look() const { return {left}; }
  [[nodiscard]] static bool may_wake(const next_step& n) { return n.left % 3 == 1; }
  bool step(thread& t, const next_step& n) {
    CHECK(n.left == left);  // what was looked up before the turn still holds
    in.step(t, left, gap);
    return --left != 0;
  }
  bool step(thread& t) override { return step(t, look()); }
};

strings orders(int threads, how (*which)(int)) {
  engine::engine e;
  play p;
  bool over = false;
  for (int i = 0; i < 3; ++i)
    p.sleepers.push_back(&e.spawn(
        "sleeper" + std::to_string(i) + " ", sim_time{},
        [&](thread& t) {
          while (!over) {
            t.park(part::idle, "a waker");
            p.order.push_back(t.name() + std::to_string(t.now().ps()));
          }
        },
        true));
  for (int i = 0; i < threads; ++i)
    e.spawn("t" + std::to_string(i) + " ", sim_time{1 + i * 7 % 5}, [&p, i, which](thread& t) {
      const int gap = 3 + i * 5 % 11;
      for (int round = 0; round < 4; ++round) {
        if (which(i) == how::errand_with_loop) {
          steps_with_loop w(p, 9, gap);
          t.run(w);
        } else {
          plain_steps w(p, 9, gap);
          if (which(i) == how::errand) {
            t.run(w);
          } else {
            do t.sync();
            while (w.step(t));
          }
        }
        t.advance(part::guest, duration{i % 40});
      }
    });
  e.run();
  return p.order;
}
}  // namespace

TEST_CASE("many threads: errands of both kinds and syncs take the same turns") {
  for (const int threads : {1, 3, 20, 150}) {
    CAPTURE(threads);
    const strings fibers = orders(threads, [](int) { return how::on_fiber; });
    CHECK(fibers.size() >= static_cast<std::size_t>(threads) * 36);
    CHECK(orders(threads, [](int) { return how::errand; }) == fibers);
    CHECK(orders(threads, [](int) { return how::errand_with_loop; }) == fibers);
    CHECK(orders(threads, [](int i) { return static_cast<how>(i % 3); }) == fibers);
    CHECK(orders(threads, [](int i) {
            return i % 4 == 0 ? how::on_fiber : how::errand_with_loop;
          }) == fibers);
  }
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
