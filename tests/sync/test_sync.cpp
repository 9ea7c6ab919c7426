// SPDX-License-Identifier: Apache-2.0
// Locks and RCU on the unit machine: an atomic on an owned word 1 ns, a transfer 10 ns in a cluster
// and 11 ns between the clusters of a crosspoint. Threads run on cores 0, 1, 2, ...
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "sim/check/explorers.hpp"
#include "sim/sync/locks.hpp"
#include "sim/sync/rcu.hpp"
#include "sim/sync/srcu.hpp"
#include "tests/machine/unit_profile.hpp"

using namespace hvsim;
using engine::duration;
using engine::nanoseconds;
using engine::part;
using numbers = std::vector<std::int64_t>;

namespace {

constexpr part line = part::mmu_lock_line;
constexpr part wait = part::mmu_lock_wait;

void work(machine::cpu& c, std::int64_t n) {
  c.thread->advance(part::table_work, nanoseconds(n));
}

}  // namespace

TEST_CASE("a spinlock whose owner touches nothing shared: hand-off by hand") {
  unit::world w;
  sync::qspinlock lock(w.machine, "l", line, wait);
  numbers got(3), left(3);
  for (std::size_t i = 0; i < 3; ++i)
    w.add(duration{}, [&, i](machine::cpu& c) {
      lock.lock(c);
      got[i] = unit::ns(c);
      work(c, 100);
      lock.unlock(c);
      left[i] = unit::ns(c);
      CHECK(c.thread->time_in(line) + c.thread->time_in(wait) + nanoseconds(100) ==
            c.thread->now() - engine::sim_time{});
    });
  w.engine.run();
  // Core 0 owns the word: 1, holds to 101, releases in 1.
  // Core 1 finds nobody else waiting: the owner fetches the word back and core 1 fetches it again,
  // 2 * 10. Core 2 waits behind core 1 and marks the word once more: 3 * 11.
  CHECK(got == numbers{1, 102 + 20, 223 + 33});
  CHECK(left == numbers{102, 223, 357});
  CHECK(lock.stats().acquisitions() == 3);
  CHECK(lock.stats().contended() == 2);
  CHECK(lock.stats().wait().sum() == nanoseconds(122 + 256));
  CHECK(lock.stats().hold().sum() == nanoseconds(3 * 101));
}

TEST_CASE("a spinlock whose owner does something shared: waiters park and are woken in order") {
  unit::world w;
  sync::qspinlock lock(w.machine, "l", line, wait);
  numbers got(3), left(3);
  for (std::size_t i = 0; i < 3; ++i)
    w.add(nanoseconds(10) * static_cast<std::int64_t>(i), [&, i](machine::cpu& c) {
      lock.lock(c);
      got[i] = unit::ns(c);
      work(c, 50);
      c.thread->sync();
      work(c, 50);
      lock.unlock(c);
      left[i] = unit::ns(c);
    });
  w.engine.run();
  // When core 0 releases at 102 both wait: three transfers to core 1; then two to core 2.
  CHECK(got == numbers{1, 102 + 30, 233 + 22});
  CHECK(left == numbers{102, 233, 356});
}

TEST_CASE("arrival decides the order, not the thread") {
  unit::world w;
  sync::qspinlock lock(w.machine, "l", line, wait);
  std::string order;
  const std::vector<int> arrival{30, 5, 40, 10, 20};
  for (std::size_t i = 0; i < arrival.size(); ++i)
    w.add(nanoseconds(arrival[i]), [&, i](machine::cpu& c) {
      lock.lock(c);
      order += static_cast<char>('a' + i);
      work(c, 100);
      c.thread->sync();
      lock.unlock(c);
    });
  w.engine.run();
  CHECK(order == "bdeac");
}

TEST_CASE("readers share, each for two turns of the word") {
  unit::world w;
  sync::qrwlock lock(w.machine, "l", line, wait);
  numbers got(2), left(2);
  for (std::size_t i = 0; i < 2; ++i)
    w.add(duration{}, [&, i](machine::cpu& c) {
      lock.read_lock(c);
      const auto since = c.thread->now();
      got[i] = unit::ns(c);
      work(c, 100);
      c.thread->sync();
      CHECK(lock.core().readers() == (i == 0 ? 2 : 1));
      lock.read_unlock(c, since);
      left[i] = unit::ns(c);
    });
  w.engine.run();
  // The word: core 0 (1), core 1 (10); back to core 0 at 101 (10); to core 1 at 111 (10).
  CHECK(got == numbers{1, 11});
  CHECK(left == numbers{111, 121});
  CHECK(lock.read_stats().hold().sum() == nanoseconds(200));
  CHECK(lock.read_stats().acquisitions() == 2);
  CHECK(lock.write_stats().acquisitions() == 0);
}

TEST_CASE("a writer waits for readers, and a later reader for the writer") {
  unit::world w;
  sync::qrwlock lock(w.machine, "l", line, wait);
  numbers got(3);
  const auto read = [&](std::size_t i) {
    return [&, i](machine::cpu& c) {
      lock.read_lock(c);
      const auto since = c.thread->now();
      got[i] = unit::ns(c);
      work(c, 100);
      lock.read_unlock(c, since);
    };
  };
  w.add(duration{}, read(0));
  w.add(nanoseconds(10), [&](machine::cpu& c) {
    lock.write_lock(c);
    got[1] = unit::ns(c);
    CHECK(lock.core().held_exclusive());
    CHECK(lock.core().readers() == 0);
    work(c, 100);
    c.thread->sync();
    CHECK(lock.core().contended());
    lock.write_unlock(c);
  });
  w.add(nanoseconds(20), read(2));
  w.engine.run();
  // The reader leaves at 101 + 1. The writer has a reader behind it: 3 * 10. It holds to 232,
  // releases in 1; the reader on core 2 is the last: 2 * 11.
  CHECK(got == numbers{1, 132, 233 + 22});
  CHECK(lock.write_stats().wait().sum() == nanoseconds(122));
}

TEST_CASE("every reader up to the next writer is let in at once") {
  unit::world w;
  sync::qrwlock lock(w.machine, "l", line, wait);
  std::uint32_t together = 0;
  bool second_writer = false;
  w.add(duration{}, [&](machine::cpu& c) {
    lock.write_lock(c);
    work(c, 200);
    c.thread->sync();
    lock.write_unlock(c);
  });
  for (int i = 0; i < 3; ++i)
    w.add(nanoseconds(10 + i), [&](machine::cpu& c) {
      lock.read_lock(c);
      const auto since = c.thread->now();
      CHECK_FALSE(second_writer);
      work(c, 100);
      c.thread->sync();
      together = std::max(together, lock.core().readers());
      lock.read_unlock(c, since);
    });
  w.add(nanoseconds(20), [&](machine::cpu& c) {
    lock.write_lock(c);
    second_writer = true;
    CHECK(lock.core().readers() == 0);
    lock.write_unlock(c);
  });
  w.engine.run();
  CHECK(together == 3);
  CHECK(second_writer);
}

namespace {

/// Three threads take the lock twice each, as writers or readers, with shared steps inside.
void exclusion(engine::chooser& chooser, unsigned threads, unsigned turns, unsigned pattern) {
  unit::world w(&chooser);
  sync::qrwlock lock(w.machine, "l", line, wait);
  int writers = 0, readers = 0, done = 0;
  for (unsigned i = 0; i < threads; ++i)
    w.add(nanoseconds(1), [&, i](machine::cpu& c) {
      for (unsigned turn = 0; turn < turns; ++turn) {
        const bool writes = (pattern >> (i * turns + turn) & 1) != 0;
        if (writes) {
          lock.write_lock(c);
          REQUIRE(++writers == 1);
        } else {
          lock.read_lock(c);
          ++readers;
        }
        const auto since = c.thread->now();
        work(c, 10);
        c.thread->sync();
        REQUIRE((writers == 0 || (writers == 1 && readers == 0)));
        c.thread->sync();
        if (writes) {
          --writers;
          lock.write_unlock(c);
        } else {
          --readers;
          lock.read_unlock(c, since);
        }
      }
      ++done;
    });
  w.engine.run();
  CHECK(done == static_cast<int>(threads));
}

}  // namespace

TEST_CASE("mutual exclusion in whatever order threads move") {
  for (unsigned pattern = 0; pattern < 64; ++pattern)
    for (std::uint64_t seed = 0; seed < 9; ++seed) {
      CAPTURE(pattern, seed);
      if (seed % 3 == 2) {
        check::pct_explorer c(seed, 2, 30);
        exclusion(c, 3, 2, pattern);
      } else {
        check::random_explorer c(seed, 1 + seed % 3 * 4);
        exclusion(c, 3, 2, pattern);
      }
    }
  for (unsigned pattern = 0; pattern < 4; ++pattern) {
    check::exhaustive_explorer all(64);
    unsigned runs = 0;
    do {
      exclusion(all, 2, 1, pattern);
      ++runs;
    } while (all.next_run());
    CHECK(runs > 20);
  }
}

TEST_CASE("writers are served one hold after the other, whatever the number of threads") {
  for (const unsigned threads : {1U, 2U, 5U, 16U})
    for (const bool shared_step : {false, true}) {
      unit::world w;
      sync::qrwlock lock(w.machine, "l", line, wait);
      constexpr unsigned turns = 50;
      std::int64_t end = 0;
      for (unsigned i = 0; i < threads; ++i)
        w.add(duration{}, [&](machine::cpu& c) {
          for (unsigned n = 0; n < turns; ++n) {
            lock.write_lock(c);
            work(c, 100);
            if (shared_step) c.thread->sync();
            lock.write_unlock(c);
          }
          end = std::max(end, unit::ns(c));
        });
      w.engine.run();
      // A hold is 100 and a release 1; a hand-off is at most three transfers over three steps.
      const std::int64_t holds = threads * turns;
      CHECK(end >= holds * 101);
      CHECK(end <= holds * (101 + 3 * 13));
      CHECK(lock.write_stats().acquisitions() == threads * turns);
      CHECK(lock.write_stats().hold().sum() == nanoseconds(101 * holds));
    }
}

TEST_CASE("an rwsem for read is one transfer in and one out") {
  unit::world w;
  sync::rwsem sem(w.machine, "mmap_lock", part::mmap_lock);
  numbers left(2);
  for (std::size_t i = 0; i < 2; ++i)
    w.add(nanoseconds(100) * static_cast<std::int64_t>(i), [&, i](machine::cpu& c) {
      sem.down_read(c);
      const auto since = c.thread->now();
      sem.up_read(c, since);
      left[i] = unit::ns(c);
      CHECK(c.thread->time_in(part::mmap_lock) ==
            nanoseconds(left[i] - 100 * static_cast<std::int64_t>(i)));
    });
  w.engine.run();
  CHECK(left == numbers{2, 100 + 10 + 1});
}

TEST_CASE("an RCU callback waits for a grace period, and for readers that are older") {
  for (const bool long_reader : {false, true}) {
    unit::world w;
    sync::rcu rcu(w.engine, w.machine, engine::core_id{15});
    std::int64_t ran = 0;
    w.add(duration{}, [&](machine::cpu& c) {
      c.thread->sync();
      rcu.read_lock(c);
      rcu.read_lock(c);  // nested
      if (long_reader)
        c.thread->wait_until(part::idle, engine::sim_time{} + engine::milliseconds(50));
      rcu.read_unlock(c, engine::milliseconds(7));  // of no account: an inner one
      CHECK(ran == 0);
      rcu.read_unlock(c, c.thread->now() - engine::sim_time{});
    });
    w.add(engine::milliseconds(1), [&](machine::cpu& c) {
      rcu.call(c, [&](machine::cpu& softirq) {
        ran = softirq.thread->now().ps() / 1'000'000'000;
        softirq.thread->advance(part::table_work, engine::microseconds(3));
      });
      CHECK(ran == 0);
      rcu.barrier(c, part::ioctl);
      CHECK(ran != 0);
      CHECK(rcu.callbacks_run() == 1);
    });
    // Younger than the callback: nobody waits for it.
    w.add(engine::milliseconds(2), [&](machine::cpu& c) {
      c.thread->sync();
      rcu.read_lock(c);
      c.thread->wait_until(part::idle, engine::sim_time{} + engine::milliseconds(90));
      rcu.read_unlock(c, engine::milliseconds(88));
    });
    w.engine.run();
    CHECK(ran == (long_reader ? 50 : 11));
    const sync::lock_stats& sections = rcu.section_stats();
    CHECK(sections.acquisitions() == 2);
    CHECK(sections.hold().count() == 2);
    CHECK(sections.hold().sum() == engine::milliseconds(long_reader ? 50 + 88 : 88));
    CHECK(sections.contended() == 1);  // the barrier, from 1 ms until the callback is over
    CHECK(sections.wait().sum() ==
          engine::milliseconds(long_reader ? 49 : 10) + engine::microseconds(3));
    const sync::lock_stats& callbacks = rcu.callback_stats();
    CHECK(callbacks.acquisitions() == 1);
    CHECK(callbacks.wait().sum() == engine::milliseconds(long_reader ? 49 : 10));
    CHECK(callbacks.hold().sum() == engine::microseconds(3));
  }
}

TEST_CASE("no RCU callback runs before a section that was open at its call has ended") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    std::unique_ptr<engine::chooser> chooser;
    if (seed % 3 == 0)
      chooser = std::make_unique<check::pct_explorer>(seed, 3, 60);
    else
      chooser = std::make_unique<check::random_explorer>(seed, 1 + seed % 3 * 3);
    unit::world w(chooser.get());
    sync::rcu rcu(w.engine, w.machine, engine::core_id{15});
    constexpr std::size_t readers = 3;
    std::vector<std::uint64_t> open(readers, 0);  // number of the open section, 0: none
    std::uint64_t sections = 0, called = 0, ran = 0;
    for (std::size_t i = 0; i < readers; ++i)
      w.add(nanoseconds(1), [&, i](machine::cpu& c) {
        for (int n = 0; n < 3; ++n) {
          c.thread->sync();
          rcu.read_lock(c);
          open[i] = ++sections;
          c.thread->sync();
          c.thread->sync();
          open[i] = 0;
          rcu.read_unlock(c, {});
        }
      });
    w.add(nanoseconds(1), [&](machine::cpu& c) {
      for (int n = 0; n < 3; ++n) {
        rcu.call(c, [&, at_call = open, order = called](machine::cpu&) {
          CHECK(ran++ == order);
          for (std::size_t i = 0; i < readers; ++i)
            if (at_call[i] != 0) CHECK(open[i] != at_call[i]);
        });
        ++called;
      }
      rcu.barrier(c, part::ioctl);
      CHECK(ran == 3);
    });
    w.engine.run();
  }
}

TEST_CASE("SRCU: synchronize waits for sections that are open, and for no others") {
  unit::world w;
  sync::srcu srcu("srcu");
  const auto reader = [&](int from, int to) {
    w.add(engine::microseconds(from), [&, from, to](machine::cpu& c) {
      c.thread->sync();
      srcu.read_lock(c);
      c.thread->wait_until(part::idle, engine::sim_time{} + engine::microseconds(to));
      srcu.read_unlock(c, engine::microseconds(to - from));
    });
  };
  reader(1, 50);
  reader(2, 30);
  reader(20, 90);
  std::int64_t first = 0, second = 0;
  w.add(engine::microseconds(10), [&](machine::cpu& c) {
    srcu.synchronize(c, part::ioctl);
    first = unit::ns(c);
    c.thread->wait_until(part::idle, engine::sim_time{} + engine::microseconds(95));
    srcu.synchronize(c, part::ioctl);
    second = unit::ns(c);
  });
  w.engine.run();
  CHECK(first == 50'000);
  CHECK(second == 95'000);
  CHECK(srcu.stats().acquisitions() == 3);
  CHECK(srcu.stats().contended() == 1);
  CHECK(srcu.stats().wait().sum() == engine::microseconds(40));
  CHECK(srcu.stats().hold().sum() == engine::microseconds(49 + 28 + 70));
}

TEST_CASE("SRCU: nothing that a reader found goes away before its section ends") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    check::random_explorer chooser(seed, 1 + seed % 3 * 3);
    unit::world w(&chooser);
    sync::srcu srcu("srcu");
    bool present = true, freed = false;
    for (int i = 0; i < 3; ++i)
      w.add(nanoseconds(1), [&](machine::cpu& c) {
        for (int n = 0; n < 3; ++n) {
          c.thread->sync();
          srcu.read_lock(c);
          const bool found = present;
          c.thread->sync();
          c.thread->sync();
          if (found) CHECK(!freed);
          srcu.read_unlock(c, {});
        }
      });
    w.add(nanoseconds(1), [&](machine::cpu& c) {
      c.thread->sync();
      present = false;
      srcu.synchronize(c, part::ioctl);
      freed = true;
    });
    w.engine.run();
    CHECK(freed);
  }
}
