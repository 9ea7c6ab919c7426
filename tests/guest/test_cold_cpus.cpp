// SPDX-License-Identifier: Apache-2.0
// CPUs of the host that are cold after a rest, as a guest's tasks see them.
#include <catch2/catch.hpp>

#include "guest/world.hpp"

using namespace guest_test;
using sched::account;

namespace {
// Cold after 20 ms; then 40 ms of work take 60 ms.
const sched::warmth_options cold_start{milliseconds(20), milliseconds(40), 500};
}  // namespace

TEST_CASE("a guest's task pays for a CPU that rested, in the part in which it works", "[guest]") {
  world w(1, 1, free_backend(), "qspinlock", {}, cold_start);
  kernel& k = w.guest->os();
  std::vector<std::int64_t> ms;
  k.start("t", sim_time{}, [&](task& t) {
    const auto turn = [&](account a, duration work, duration sleep) {
      const sim_time begin = t.exec.now();
      t.exec.run(a, work);
      ms.push_back((t.exec.now() - begin).ps() / milliseconds(1).ps());
      k.sleep_for(t, sleep);
    };
    turn(account::user, milliseconds(100), milliseconds(15));
    turn(account::user, milliseconds(100), milliseconds(25));
    turn(account::kernel, milliseconds(100), milliseconds(25));
    turn(account::user, milliseconds(10), milliseconds(1));
  });
  w.run({0});
  CHECK(ms == std::vector<std::int64_t>{120, 100, 120, 15});
  CHECK(k.ended().in(account::user) == milliseconds(120 + 100 + 15));
  CHECK(k.ended().in(account::kernel) == milliseconds(120));
  CHECK(k.tasks().front()->times(true).user == milliseconds(120 + 100 + 15));
  CHECK(k.tasks().front()->times(true).system == milliseconds(120));
}

TEST_CASE("a CPU of the host is cold once, whichever vCPU runs on it", "[guest]") {
  // One core for two vCPUs, and one for each.
  for (const std::uint32_t cores : {1U, 2U}) {
    CAPTURE(cores);
    world w(cores, 2, free_backend(), "qspinlock", {}, cold_start);
    kernel& k = w.guest->os();
    for (std::uint32_t v = 0; v < 2; ++v)
      k.start("t" + std::to_string(v), sim_time{},
              [](task& t) { t.exec.run(account::user, milliseconds(100)); }, {v, 1});
    w.run({0, cores - 1});
    CHECK(k.ended().in(account::user) == milliseconds(200) + milliseconds(20) * cores);
  }
}
