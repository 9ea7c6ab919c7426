// SPDX-License-Identifier: Apache-2.0
// Threads for whom no time passes.
#include <catch2/catch.hpp>
#include <string>

#include "sim/engine/engine.hpp"

using namespace hvsim;
using Catch::Matchers::Contains;
using engine::duration;
using engine::part;
using engine::sim_time;
using engine::thread;

namespace {

/// Two threads wake each other `turns` times, `step` apart; forever if that is 0.
void take_turns(std::uint64_t turns, duration step) {
  engine::engine e;
  thread* both[2] = {};
  for (int i = 0; i < 2; ++i)
    both[i] = &e.spawn(i == 0 ? "left" : "right", sim_time{1'500'000'000'000}, [&, i](thread& t) {
      for (std::uint64_t n = 0; turns == 0 || n < turns; ++n) {
        t.advance(part::guest, step);
        t.sync();
        thread& other = *both[1 - i];
        if (engine::engine::parked(other)) e.wake(other, t.now());
        if (!engine::engine::ended(other)) t.park(part::idle, "the other one");
      }
      if (engine::engine::parked(*both[1 - i])) e.wake(*both[1 - i], t.now());
    });
  e.run();
}

}  // namespace

TEST_CASE("turns that take no time and do not end are an error with the time") {
  std::string said;
  try {
    take_turns(0, duration{});
  } catch (const engine::time_standstill& e) {
    said = e.what();
  }
  CHECK_THAT(said, Contains("virtual time stands still at 1.500000000000 s") &&
                       (Contains("left") || Contains("right")));
}

TEST_CASE("much work at one instant, and much work that takes a picosecond a turn, are none") {
  CHECK_NOTHROW(take_turns(1 << 20, duration{}));
  CHECK_NOTHROW(
      take_turns(std::uint64_t{5} << 20, duration{1}));  // more turns than allowed at once
}
