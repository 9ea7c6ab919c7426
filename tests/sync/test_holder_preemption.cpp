// SPDX-License-Identifier: Apache-2.0
// Locks of threads that share CPUs: what the preemption of a holder or of a waiter costs the
// others.
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <string>

#include "machine/unit_profile.hpp"
#include "sim/sched/policies.hpp"
#include "sim/sched/shared_cpus.hpp"
#include "sim/sync/locks.hpp"

using namespace hvsim::engine;
using namespace hvsim::sched;
using hvsim::machine::cpu;
using hvsim::sync::qrwlock;
using hvsim::sync::qspinlock;
using hvsim::sync::rwsem;

namespace {

/// Threads on two CPUs of the unit machine, cores 0 and 1, each kept to one of them. CFS: slices of
/// 6 ms, 8 ms in ticks of 4 ms; a new thread is put one slice behind.
struct world {
  explicit world(preemption how)
      : machine(unit::profile()),
        clock(engine),
        scheduler(clock, make_policy("cfs", 2), options()),
        sharing(engine, scheduler, how) {}

  static scheduler_options options() {
    scheduler_options o;
    o.cpus = 2;
    return o;
  }

  template <class Body>
  thread& add(const std::string& name, std::uint32_t on, Body body, sim_time from = {}) {
    auto& c = cpus[name];
    c.core = core_id{on};
    c.thread = &engine.spawn(name, from, [this, &c, body, name](thread& t) {
      sharing.resume(t);
      body(c);
      sharing.remove(t);
      ends[name] = t.now() - sim_time{};
    });
    sharing.add(*c.thread, {on, 1}, [](cpu_index) {});
    return *c.thread;
  }
  void hog(const std::string& name, std::uint32_t on, duration work) {
    add(name, on, [work](cpu& c) { c.thread->advance(part::guest, work); });
  }
  void run() { engine.run(); }

  hvsim::engine::engine engine;
  hvsim::machine::machine machine;
  timers clock;
  hvsim::sched::scheduler scheduler;
  shared_cpus sharing;
  std::map<std::string, cpu> cpus;
  std::map<std::string, duration> ends;
};

void work(cpu& c, duration d) {
  c.thread->advance(part::guest, d);
}

duration life(const thread& t) {
  duration sum;
  for (const duration d : t.parts()) sum += d;
  return sum;
}

/// The holder has the lock for 10 ms from the start and shares CPU 0 with a hog; the waiter comes
/// at 1 ms on CPU 1. Returns the waiter's thread.
template <class Lock, class Take, class Drop>
thread& holder_and_waiter(world& w, Lock& lock, Take take, Drop drop) {
  w.add("holder", 0, [&lock, take, drop](cpu& c) {
    take(lock, c);
    work(c, milliseconds(10));
    drop(lock, c);
  });
  w.hog("hog", 0, milliseconds(20));
  thread& waiter = w.add("waiter", 1, [&lock, take, drop](cpu& c) {
    work(c, milliseconds(1));
    take(lock, c);
    drop(lock, c);
  });
  w.run();
  CHECK(life(waiter) == waiter.now() - sim_time{});
  return waiter;
}

}  // namespace

TEST_CASE("a holder that is preempted blindly makes the waiter wait a slice of the other task") {
  // The holder runs 8 ms, the hog 8 ms, the holder its last 2 ms: the lock is free at 18 ms.
  world w(preemption::blind);
  qspinlock lock(w.machine, "a", part::mmu_lock_line, part::mmu_lock_wait);
  thread& waiter = holder_and_waiter(
      w, lock, [](qspinlock& l, cpu& c) { l.lock(c); }, [](qspinlock& l, cpu& c) { l.unlock(c); });
  CHECK(waiter.time_in(part::lock_holder_preempted) == milliseconds(8));
  // From 1 ms to 18 ms, without those 8; then the release's atomic (1 ns), the word back and forth
  // between neighbours (2 * 10 ns), after the holder's first atomic (1 ns).
  CHECK(waiter.time_in(part::mmu_lock_wait) == milliseconds(9) + nanoseconds(22));
  CHECK(w.sharing.holder_preemptions() == 1);
}

TEST_CASE("in the kernel a spinlock's holder is not preempted before it unlocks") {
  for (const bool rw : {false, true}) {
    CAPTURE(rw);
    world w(preemption::kernel);
    qspinlock spin(w.machine, "a", part::mmu_lock_line, part::mmu_lock_wait);
    qrwlock rwlock(w.machine, "b", part::mmu_lock_line, part::mmu_lock_wait);
    thread& waiter = rw ? holder_and_waiter(
                              w, rwlock, [](qrwlock& l, cpu& c) { l.write_lock(c); },
                              [](qrwlock& l, cpu& c) { l.write_unlock(c); })
                        : holder_and_waiter(
                              w, spin, [](qspinlock& l, cpu& c) { l.lock(c); },
                              [](qspinlock& l, cpu& c) { l.unlock(c); });
    CHECK(waiter.time_in(part::lock_holder_preempted) == duration{});
    CHECK(waiter.time_in(part::mmu_lock_wait) == milliseconds(9) + nanoseconds(22));
    CHECK(w.sharing.holder_preemptions() == 0);
    // The hog's turn comes at the unlock.
    CHECK(w.ends["hog"] >= milliseconds(30));
    CHECK(w.ends["hog"] <= milliseconds(30) + microseconds(1));
  }
}

TEST_CASE("a semaphore's holder is preempted, and its waiters sleep") {
  world w(preemption::kernel);
  rwsem sem(w.machine, "mmap_lock", part::mmap_lock);
  // The waiter, a slice behind its neighbour, comes at 9 ms. While it sleeps CPU 1 is the
  // neighbour's, which has 1 ms to go.
  w.hog("neighbour", 1, milliseconds(9));
  thread& waiter = holder_and_waiter(
      w, sem, [](rwsem& l, cpu& c) { l.down_write(c); }, [](rwsem& l, cpu& c) { l.up_write(c); });
  CHECK(waiter.time_in(part::lock_holder_preempted) == milliseconds(16 - 9));
  CHECK(w.ends["neighbour"] == milliseconds(10));
  CHECK(w.sharing.holder_preemptions() == 1);
}

TEST_CASE("a lock that is handed to a waiter without a CPU is nobody else's") {
  // The first waiter shares CPU 1 with a hog and has lost it (8 ms to 16 ms) when the lock is
  // dropped at 10 ms; the second comes at 11 ms and has CPU 0 for itself.
  world w(preemption::blind);
  qspinlock lock(w.machine, "a", part::mmu_lock_line, part::mmu_lock_wait);
  const auto once = [&](cpu& c) {
    lock.lock(c);
    lock.unlock(c);
  };
  w.add("holder", 0, [&](cpu& c) {
    lock.lock(c);
    work(c, milliseconds(10));
    lock.unlock(c);
    work(c, milliseconds(1));
    c.thread->sync();
    w.add("second", 0, once, c.thread->now());
  });
  thread& first = w.add("first", 1, once);
  w.hog("hog", 1, milliseconds(20));
  w.run();
  CHECK(w.ends["first"] - milliseconds(16) <= microseconds(1));
  CHECK(first.time_in(part::lock_holder_preempted) == duration{});
  // After the holder's first atomic, its last one, and two transfers between neighbours.
  CHECK(first.time_in(part::steal) == milliseconds(6) - nanoseconds(22));
  const thread& second = *w.cpus["second"].thread;
  // Off by the nanoseconds for which the holder was late.
  CHECK(milliseconds(5) - second.time_in(part::lock_holder_preempted) <= microseconds(1));
  CHECK(w.ends["second"] >= milliseconds(16));
  CHECK(w.ends["second"] - milliseconds(16) <= microseconds(1));
  CHECK(life(second) == second.now() - sim_time{} - milliseconds(11) - nanoseconds(2));
}

TEST_CASE("readers are each a holder") {
  // Two readers of 10 ms, one of them preempted from 8 ms to 16 ms; a writer waits from 1 ms on.
  world w(preemption::blind);
  qrwlock lock(w.machine, "a", part::mmu_lock_line, part::mmu_lock_wait);
  const auto reader = [&](cpu& c) {
    lock.read_lock(c);
    const sim_time since = c.thread->now();
    work(c, milliseconds(10));
    lock.read_unlock(c, since);
  };
  w.add("preempted", 0, reader);
  w.hog("hog", 0, milliseconds(20));
  w.add("other", 1, reader);
  thread& writer = w.add("writer", 1, [&](cpu& c) {
    lock.write_lock(c);
    lock.write_unlock(c);
  });
  w.run();
  // The writer, a slice behind on CPU 1, comes at 8 ms; the preempted reader ends at 18 ms.
  CHECK(writer.time_in(part::lock_holder_preempted) == milliseconds(8));
  CHECK(life(writer) == writer.now() - sim_time{});
}
