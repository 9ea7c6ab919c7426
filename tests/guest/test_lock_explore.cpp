// SPDX-License-Identifier: Apache-2.0
// Each guest lock under every order of moves of three CPUs, to a depth.
#include <catch2/catch.hpp>
#include <string>

#include "guest/explore_port.hpp"
#include "sim/check/explorers.hpp"
#include "sim/guest/locks/pv_qspinlock.hpp"
#include "sim/guest/locks/pv_ticket.hpp"
#include "sim/guest/locks/qspinlock.hpp"
#include "sim/guest/locks/test_and_set.hpp"
#include "sim/guest/locks/ticket.hpp"

using namespace guest_test;
namespace check = hvsim::check;
namespace engine = hvsim::engine;

namespace {

constexpr std::uint32_t cpus = 3;

struct shared {
  locks::queue_nodes nodes{cpus};
  locks::pv_hash hash{cpus};
  locks::ticket_waiters tickets{cpus};
};

struct verdict {
  std::uint64_t runs = 0;
  std::uint64_t overlaps = 0;
  std::uint64_t stuck = 0;
  locks::lock_event_counts events{};
  [[nodiscard]] std::uint64_t seen(locks::lock_event e) const {
    return events[static_cast<std::size_t>(e)];
  }
};

/// Three CPUs take the lock once each, the first one twice, as `order` has them move.
template <class Make>
void explore_once(engine::chooser& order, Make make, planted bug, verdict& v,
                  bool keeps_kicks = false) {
  shared common;
  auto lock = make(common);
  explored_world world(cpus);
  world.bug = bug;
  world.keeps_kicks = keeps_kicks;
  engine::engine e(&order);
  int inside = 0;
  for (std::uint32_t c = 0; c < cpus; ++c)
    e.spawn("cpu" + std::to_string(c), engine::sim_time{}, [&, c](engine::thread& t) {
      explore_port p(world, t, c);
      for (std::uint32_t i = 0; i < (c == 0 ? 2U : 1U); ++i) {
        lock.lock(p);
        if (++inside != 1) ++v.overlaps;
        t.sync();
        --inside;
        lock.unlock(p);
      }
      for (std::size_t i = 0; i < p.events.size(); ++i) v.events[i] += p.events[i];
    });
  try {
    e.run();
  } catch (const engine::deadlock_error&) {
    ++v.stuck;
  }
  ++v.runs;
}

/// Every order of the first `depth` moves.
template <class Make>
verdict explore(std::size_t depth, Make make, bool keeps_kicks = false) {
  verdict v;
  check::exhaustive_explorer orders(depth);
  do {
    explore_once(orders, make, planted::nothing, v, keeps_kicks);
  } while (orders.next_run());
  return v;
}

/// Runs in which one CPU gets eight moves ahead on average, for races deeper than `explore` goes.
template <class Make>
verdict explore_randomly(std::uint64_t runs, Make make, planted bug) {
  verdict v;
  for (std::uint64_t seed = 1; seed <= runs; ++seed) {
    check::random_explorer order(seed, 8);
    explore_once(order, make, bug, v);
  }
  return v;
}

locks::pv_options impatient(locks::pv_options o) {
  o.spin_threshold = 1;
  o.check_period = 1;
  return o;
}

locks::pv_qspinlock pv(shared& s, const locks::pv_options& o) {
  return locks::pv_qspinlock(s.nodes, s.hash, 1, impatient(o));
}

}  // namespace

TEST_CASE("spinning locks exclude each other and let everybody through") {
  const std::size_t depth = 7;
  const verdict tas = explore(depth, [](shared&) { return locks::test_and_set(); });
  CHECK(tas.runs > 300);
  CHECK(tas.overlaps == 0);
  CHECK(tas.stuck == 0);
  const verdict tickets = explore(depth, [](shared&) { return locks::ticket(); });
  CHECK(tickets.runs > 300);
  CHECK(tickets.overlaps == 0);
  CHECK(tickets.stuck == 0);
  const verdict queued = explore(
      depth, [](shared& s) { return locks::qspinlock(s.nodes, locks::qspinlock_options{1}); });
  CHECK(queued.runs > 300);
  CHECK(queued.overlaps == 0);
  CHECK(queued.stuck == 0);
  CHECK(queued.seen(locks::lock_event::lock_pending) > 0);
  CHECK(queued.seen(locks::lock_event::lock_slowpath) > 0);
}

TEST_CASE("the paravirtual lock of every kernel excludes, and nobody sleeps for ever") {
  for (const locks::pv_preset& preset : locks::pv_presets()) {
    CAPTURE(preset.kernel);
    const verdict v = explore(7, [&](shared& s) { return pv(s, preset.options); });
    CHECK(v.runs > 300);
    CHECK(v.overlaps == 0);
    CHECK(v.stuck == 0);
    CHECK(v.seen(locks::lock_event::pv_kick_unlock) > 0);
    CHECK(v.seen(locks::lock_event::pv_wait_head) > 0);
  }
}

TEST_CASE("the lock of openEuler's arm64 guests, whose host keeps a kick, excludes and wakes") {
  const verdict v = explore(
      7, [](shared& s) { return pv(s, {}); }, true);
  CHECK(v.runs > 300);
  CHECK(v.overlaps == 0);
  CHECK(v.stuck == 0);
  CHECK(v.seen(locks::lock_event::pv_kick_unlock) > 0);
}

TEST_CASE("the paravirtual ticket lock excludes, and nobody sleeps for ever") {
  const auto make = [](shared& s) { return locks::pv_ticket(s.tickets, 1, 1); };
  for (const bool keeps : {false, true}) {
    CAPTURE(keeps);
    const verdict v = explore(7, make, keeps);
    CHECK(v.runs > 300);
    CHECK(v.overlaps == 0);
    CHECK(v.stuck == 0);
    CHECK(v.seen(locks::lock_event::taken_slow) > 0);
    CHECK(v.seen(locks::lock_event::released_slow_kicked) > 0);
  }
  const verdict deep = explore_randomly(1000, make, planted::nothing);
  CHECK(deep.overlaps == 0);
  CHECK(deep.stuck == 0);
  CHECK(deep.seen(locks::lock_event::taken_slow_pickup) > 0);
  CHECK(explore_randomly(1000, make, planted::wait_without_look).stuck > 0);
}

TEST_CASE("two planted bugs are found, and nothing without them") {
  const auto make = [](shared& s) { return pv(s, {}); };
  const verdict sound = explore_randomly(1000, make, planted::nothing);
  CHECK(sound.stuck == 0);
  CHECK(sound.overlaps == 0);
  // A kick before the store that unlocks: the sleeper looks, finds the lock held, sleeps again.
  CHECK(explore_randomly(1000, make, planted::kick_before_store).stuck > 0);
  // A wait that does not look again: the kick came in between.
  CHECK(explore_randomly(1000, make, planted::wait_without_look).stuck > 0);
}
