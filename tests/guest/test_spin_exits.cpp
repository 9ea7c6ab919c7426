// SPDX-License-Identifier: Apache-2.0
// Pause-loop exits: how many a known wait has, who gets the CPU that they offer, and what else ends
// the sleep of a paravirtual waiter.
#include <catch2/catch.hpp>

#include "guest/world.hpp"

using namespace guest_test;
using sched::account;

namespace {

backend pausing() {
  backend b = free_backend();
  b.spin = spin_exit::pause_loop;
  b.spin_window = microseconds(2);
  b.exit = microseconds(1);
  return b;
}

/// A task that works for `before`, takes the lock, keeps it for `hold`; returns when it got it.
void taker(world& w, spinlock& l, std::uint32_t cpu, duration before, duration hold,
           sim_time& got) {
  w.guest->os().start("taker" + std::to_string(cpu), sim_time{},
                      [&l, &got, before, hold](task& t) {
                        t.exec.run(account::kernel, before);
                        l.lock(t);
                        got = t.exec.now();
                        t.exec.run(account::kernel, hold);
                        l.unlock(t);
                      },
                      {cpu, 1});
}

/// Exits of a waiter that spins undisturbed for 3 ms.
std::uint64_t exits_in_3_ms(const backend& b) {
  world w(2, 2, b, "ticket");
  spinlock& l = w.guest->os().make_lock("l");
  sim_time first;
  sim_time second;
  taker(w, l, 0, microseconds(1), milliseconds(3), first);
  taker(w, l, 1, microseconds(1) + nanoseconds(200), duration{}, second);
  w.run({0, 1});
  CHECK(second - first > milliseconds(3));
  CHECK(second - first < milliseconds(3) + microseconds(4));
  return w.guest->machine().vcpu(1).wfe_exits;
}

}  // namespace

TEST_CASE("a pause loop leaves the guest once a window") {
  // 2 us of spinning and 1 us of exit, give or take a tenth of it: 1000 times in 3 ms.
  const std::uint64_t fixed = exits_in_3_ms(pausing());
  CHECK(fixed > 990);
  CHECK(fixed < 1010);
}

TEST_CASE("a window that grows doubles with each exit") {
  backend b = pausing();
  b.spin_window_grows = true;
  // Windows of 2, 4, ... us: ten of them and their exits take 2046 + 10 us, eleven 4094 + 11 us.
  CHECK(exits_in_3_ms(b) == 10);
}

TEST_CASE("a yield may go to a vCPU that gave its own CPU away, on every second visit") {
  // Core 0 has vCPU 0, the next in the lock's line, and vCPU 1, which computes. With three cores
  // latency is 12 ms, a slice 6 ms and by ticks of 4 ms 8 ms; vCPU 1 starts half a period of 6 ms
  // behind, so vCPU 0 runs at 0-8 and from 16 ms on, when it is 6 ms behind, and is 2 ms ahead
  // at 24. It wants the lock at 23.9 ms, leaves once and gives its CPU away before 23.904 ms. vCPU
  // 2 wants it at 23.92 ms. Its first exit passes over vCPU 0, which is in a spin loop; its second,
  // two windows and two exits later, does not. vCPU 0 may run: it is ahead of vCPU 1 by less than
  // the wake-up granularity of 2 ms. Nobody else would run it before the tick of 28 ms.
  for (const bool woken_too : {true, false}) {
    CAPTURE(woken_too);
    backend b = pausing();
    b.directed_yield = true;
    b.yields_to_woken = woken_too;
    world w(3, 4, b, "ticket");
    kernel& k = w.guest->os();
    spinlock& l = k.make_lock("l");
    sim_time got[3];
    taker(w, l, 0, microseconds(15'900), duration{}, got[0]);
    k.start("computes", sim_time{}, [](task& t) { t.exec.run(account::user, milliseconds(40)); },
            {1, 1});
    taker(w, l, 2, microseconds(23'920), duration{}, got[1]);
    taker(w, l, 3, microseconds(1), microseconds(23'920), got[2]);
    w.run({0, 0, 1, 2});
    CHECK(got[0] - sim_time{} > microseconds(23'925));
    CHECK(got[0] - sim_time{} < microseconds(23'928));
    CHECK(got[1] > got[0]);
    // One of vCPU 0, to vCPU 1; one of vCPU 2.
    CHECK(w.guest->machine().directed_yield_attempted == 2);
    CHECK(w.guest->machine().directed_yield_successful == 2);
  }
}

TEST_CASE("what a guest is told about a preempted vCPU leaves out one that gave its CPU away") {
  backend b = pausing();
  b.directed_yield = true;
  b.yields_to_woken = true;
  world w(3, 4, b, "ticket");
  kernel& k = w.guest->os();
  spinlock& l = k.make_lock("l");
  sim_time got[2];
  taker(w, l, 0, microseconds(15'900), duration{}, got[0]);
  k.start("computes", sim_time{}, [](task& t) { t.exec.run(account::user, milliseconds(40)); },
          {1, 1});
  taker(w, l, 3, microseconds(1), milliseconds(24), got[1]);
  const auto look = [&](const vcpu_thread& v, bool kvm, bool told) {
    CHECK(v.preempted() == kvm);
    CHECK(v.seen_preempted() == told);
  };
  const auto at = [&](duration d, std::function<void()> what) {
    w.clock.arm(w.clock.add([what](sim_time) { what(); }), sim_time{} + d);
  };
  const vm& m = w.guest->machine();
  at(milliseconds(12), [&] { look(m.vcpu(0), true, true); });  // its slice was over at 8 ms
  at(microseconds(23'910), [&] { look(m.vcpu(0), true, false); });
  at(microseconds(23'910), [&] { look(m.vcpu(1), false, false); });
  w.run({0, 0, 1, 2});
}

TEST_CASE("with interrupts on, the guest's tick ends the sleep of a paravirtual waiter") {
  // The holder keeps the lock for 40 ms; the waiter sleeps after 100 looks of 10 ns. Ticks are 4
  // ms.
  for (const interrupts how : {interrupts::on, interrupts::off}) {
    CAPTURE(how == interrupts::on);
    backend b = free_backend();
    b.kick_is_kept = true;
    b.open_interrupt_ends_wait = true;
    world w(2, 2, b, "pv-ticket", [](system_options& o) { o.kernel.pv.spin_threshold = 100; });
    kernel& k = w.guest->os();
    spinlock& l = k.make_lock("l", how);
    sim_time got[2];
    taker(w, l, 0, microseconds(1), milliseconds(40), got[0]);
    taker(w, l, 1, microseconds(2), duration{}, got[1]);
    w.run({0, 1});
    const auto slept = k.lock_events()[static_cast<std::size_t>(locks::lock_event::taken_slow)];
    // Again after each of the ticks at 4, 8, ... 40 ms, or once.
    CHECK(slept == (how == interrupts::on ? 11 : 1));
    CHECK(got[1] - got[0] > milliseconds(40));
    CHECK(got[1] - got[0] < milliseconds(40) + microseconds(2));
  }
}
