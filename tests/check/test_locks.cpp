// SPDX-License-Identifier: Apache-2.0
// Checkers of locks: planted bugs, and the locks of the fault path.
#include "sim/check/lock_order.hpp"
#include "sim/check/mutual_exclusion.hpp"
#include "sim/check/violation.hpp"
#include "sim/check/watch_list.hpp"
#include "tests/check/one_block.hpp"
#include "tests/machine/unit_profile.hpp"

using namespace one_block;
using Catch::Matchers::Contains;
using edges = std::vector<std::pair<std::string, std::string>>;

namespace {

constexpr engine::part line = engine::part::mmu_lock_line;

/// A lock whose test and set are two steps. Who finds it held gives up.
struct broken_lock {
  explicit broken_lock(machine::machine&) {}
  bool held = false;
  bool lock(machine::cpu& c) {
    c.thread->sync();
    if (held) return false;
    c.thread->sync();
    held = true;
    c.thread->owner().watcher()->lock_taken(*c.thread, this, "broken", true);
    return true;
  }
  void unlock(machine::cpu& c) {
    c.thread->owner().watcher()->lock_dropped(*c.thread, this, "broken", true);
    held = false;
  }
};

struct sound_lock : sync::qspinlock {
  explicit sound_lock(machine::machine& m) : qspinlock(m, "sound", line, line) {}
  bool lock(machine::cpu& c) {
    qspinlock::lock(c);
    return true;
  }
};

/// What two threads that lock and unlock are caught at, over all orders of the first choices.
template <class Lock>
std::string explored(std::uint64_t& taken) {
  check::exhaustive_explorer all(8);
  do {
    check::mutual_exclusion checker;
    unit::world w(&all);
    Lock lock(w.machine);
    w.engine.observe(&checker);
    for (int i = 0; i < 2; ++i)
      w.add({}, [&](machine::cpu& c) {
        if (!lock.lock(c)) return;
        c.thread->sync();
        lock.unlock(c);
      });
    try {
      w.engine.run();
    } catch (const check::violation& v) {
      return v.what();
    }
    taken += checker.taken();
  } while (all.next_run());
  return "nothing";
}

/// The message of a violation that a single thread causes.
template <class Body>
std::string alone(engine::observer& watcher, Body body) {
  unit::world w;
  w.engine.observe(&watcher);
  w.add({}, [&](machine::cpu& c) { body(w.machine, c); });
  try {
    w.engine.run();
  } catch (const check::violation& v) {
    return v.what();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("a lock that does not exclude is found, and one that does is not") {
  std::uint64_t taken = 0;
  CHECK_THAT(explored<broken_lock>(taken),
             Contains("takes broken exclusively") && Contains("holds exclusively"));
  taken = 0;
  CHECK(explored<sound_lock>(taken) == "nothing");
  CHECK(taken > 2);
}

TEST_CASE("a lock that is dropped by somebody else, on the wrong side, or taken in the past") {
  check::mutual_exclusion stranger;
  CHECK_THAT(alone(stranger,
                   [](machine::machine& m, machine::cpu& c) {
                     sync::qrwlock l(m, "l", line, line);
                     l.read_lock(c);
                     l.write_unlock(c);
                   }),
             Contains("drops l") && Contains("without holding it exclusively"));
  check::mutual_exclusion early;
  engine::engine e;
  const auto at = [&](engine::sim_time begin, engine::sim_time end) {
    return [&early, end, begin](engine::thread& t) {
      t.advance_to(engine::part::guest, begin);
      early.lock_taken(t, &early, "l", true);
      t.advance_to(engine::part::guest, end);
      early.lock_dropped(t, &early, "l", true);
    };
  };
  e.spawn("a", engine::sim_time{}, at(engine::sim_time{10}, engine::sim_time{100}));
  e.spawn("b", engine::sim_time{}, at(engine::sim_time{50}, engine::sim_time{60}));
  CHECK_THROWS_WITH(e.run(),
                    "mutual exclusion: b takes l exclusively at 50 ps, before a drops it "
                    "at 100 ps");
}

TEST_CASE("lock order: a cycle over three locks is found without a deadlock") {
  check::lock_order checker;
  CHECK_THAT(alone(checker,
                   [](machine::machine& m, machine::cpu& c) {
                     sync::qspinlock a(m, "a", line, line), b(m, "b", line, line),
                         d(m, "d", line, line);
                     sync::qspinlock* const pairs[][2] = {{&a, &b}, {&b, &d}, {&a, &d}, {&d, &a}};
                     for (const auto& p : pairs) {
                       p[0]->lock(c);
                       p[1]->lock(c);
                       p[1]->unlock(c);
                       p[0]->unlock(c);
                     }
                   }),
             Contains("takes a while it holds d") && Contains("took b while it held a") &&
                 Contains("took d while it held b"));
  CHECK(checker.edges() == edges{{"a", "b"}, {"a", "d"}, {"b", "d"}, {"d", "a"}});

  check::lock_order twice;
  CHECK_THAT(alone(twice,
                   [](machine::machine& m, machine::cpu& c) {
                     sync::qrwlock a(m, "a", line, line);
                     a.read_lock(c);
                     a.read_lock(c);
                   }),
             Contains("takes a while it holds a"));
}

TEST_CASE("the locks of the fault path exclude and have one order") {
  mmu::table_memory memory(mmu::granule_4k);
  for (const std::string& kernel : kernels) {
    CAPTURE(kernel);
    for (unsigned seed = 0; seed <= 12; ++seed) {
      CAPTURE(seed);
      const auto chooser = seed == 0 ? nullptr : explorer(seed);  // 0: by the clock
      world w(simulate::one_block(kernel), memory, chooser.get());
      check::mutual_exclusion exclusion;
      check::lock_order order;
      check::watch_list all({&exclusion, &order});
      w.session.engine.observe(&all);
      CHECK_NOTHROW(w.run());
      CHECK(exclusion.taken() >= 2 * 512 / stride);  // faults of one pass
      CHECK(order.edges() == edges{{"mmap_lock", "mmu_lock"}});
    }
  }
}

TEST_CASE("a driver that takes mmap_lock under mmu_lock is found against the notifier's order") {
  mmu::table_memory memory(mmu::granule_4k);
  for (const bool explore : {true, false}) {
    const auto chooser = explore ? explorer(1) : nullptr;
    world w(simulate::one_block("linux-6.2"), memory, chooser.get());
    check::lock_order order;
    w.session.engine.observe(&order);
    sync::qrwlock of_another_vm(w.session.machine, "mmu_lock", line, line);
    w.session.engine.spawn("driver", engine::sim_time{}, [&](engine::thread& t) {
      machine::cpu c;
      c.thread = &t;
      of_another_vm.write_lock(c);
      w.session.mm.mmap_lock().down_read(c);
      w.session.mm.mmap_lock().up_read(c, t.now());
      of_another_vm.write_unlock(c);
    });
    CHECK_THROWS_WITH(w.run(),
                      Contains("lock order") && Contains("mmap_lock") && Contains("driver at"));
  }
}
