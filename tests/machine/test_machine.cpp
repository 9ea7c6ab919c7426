// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/machine/unit_profile.hpp"

using namespace hvsim;
using engine::core_id;
using engine::duration;
using engine::nanoseconds;
using engine::part;
using machine::placement;
using machine::topology;

namespace {

std::vector<std::uint32_t> cores(const topology& t, placement how, std::uint32_t n,
                                 const std::vector<std::int64_t>& list = {}) {
  std::vector<std::uint32_t> out;
  for (const core_id c : machine::place(t, how, n, list)) out.push_back(c.value());
  return out;
}

std::string complaint(const topology& t, std::uint32_t n, const std::vector<std::int64_t>& list) {
  try {
    (void)machine::place(t, placement::list, n, list);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "";
}

/// F as documented, with libm.
double slowdown(double u) {
  return std::pow(1 + std::pow(u, 4.0 / 3), 0.75);
}

}  // namespace

TEST_CASE("hops on a mesh of two by two") {
  // Cores 0-3 at crosspoint (0,0), 4-7 at (1,0), 8-11 at (0,1), 12-15 at (1,1); clusters of two.
  const topology t({1, 16, 2, 2, 2});
  const std::map<std::uint32_t, std::uint32_t> from_0{{0, 0}, {1, 0}, {2, 1},  {3, 1},  {4, 2},
                                                      {7, 2}, {8, 2}, {11, 2}, {12, 3}, {15, 3}};
  for (const auto& [core, hops] : from_0) {
    CAPTURE(core);
    CHECK(t.hops(core_id{0}, core_id{core}) == hops);
  }
  CHECK(t.hops(core_id{5}, core_id{10}) == 3);
  for (std::uint32_t a = 0; a < 16; ++a)
    for (std::uint32_t b = 0; b < 16; ++b)
      CHECK(t.hops(core_id{a}, core_id{b}) == t.hops(core_id{b}, core_id{a}));
}

TEST_CASE("shapes that cannot be") {
  CHECK_THROWS_AS(topology({0, 16, 2, 2, 2}), std::invalid_argument);
  CHECK_THROWS_AS(topology({1, 0, 2, 2, 2}), std::invalid_argument);
  CHECK_THROWS_AS(topology({1, 16, 0, 2, 2}), std::invalid_argument);
  CHECK_THROWS_AS(topology({1, 16, 2, 2, 0}), std::invalid_argument);
  CHECK_THROWS_AS(topology({3, 16, 2, 2, 2}), std::invalid_argument);
  CHECK(topology({2, 16, 2, 2, 2}).socket_of(core_id{7}) == 0);
  CHECK(topology({2, 16, 2, 2, 2}).socket_of(core_id{8}) == 1);
  // Two sockets of 4 x 2 crosspoints: from core 4 (crosspoint 1, right column) it is one step out
  // and none across to core 16 (crosspoint 0 of the other), and as far back.
  const topology pair({2, 32, 2, 2, 2});
  CHECK(pair.hops(core_id{4}, core_id{16}) == 2);
  CHECK(pair.hops(core_id{16}, core_id{4}) == 2);
}

TEST_CASE("placement") {
  const topology t({1, 16, 2, 2, 2});
  using list = std::vector<std::uint32_t>;
  CHECK(cores(t, placement::compact, 5) == list{0, 1, 2, 3, 4});
  CHECK(cores(t, placement::spread, 4) == list{0, 4, 8, 12});
  CHECK(cores(t, placement::spread, 3) == list{0, 5, 10});
  CHECK(cores(t, placement::spread, 16).back() == 15);
  CHECK(cores(t, placement::list, 3, {9, 2, 5, 1}) == list{9, 2, 5});
  CHECK_THROWS_AS(machine::place(t, placement::compact, 17, {}), std::invalid_argument);
  CHECK(complaint(t, 2, {3}) == "the list names 1 cores for 2 vCPUs");
  CHECK(complaint(t, 2, {3, 3}) == "core 3 is named twice");
  CHECK(complaint(t, 2, {3, 16}) == "core 16 does not exist: the machine has 0 to 15");
  CHECK(complaint(t, 2, {-1, 3}) == "core -1 does not exist: the machine has 0 to 15");
  CHECK(complaint(t, 17, {}) == "17 vCPUs on 16 cores: one core for each vCPU is needed");
}

TEST_CASE("a line serves one core at a time") {
  unit::world w;
  machine::line l;  // core 0 has it
  std::vector<std::int64_t> ends(4);
  for (std::size_t i = 0; i < 3; ++i)
    w.add(duration{}, [&, i](machine::cpu& c) {
      w.machine.read_modify_write(c, l, part::dirty_log);
      ends[i] = unit::ns(c);
      CHECK(c.thread->time_in(part::dirty_log) == nanoseconds(ends[i]));
    });
  w.add(nanoseconds(100), [&](machine::cpu& c) {
    w.machine.read_modify_write(c, l, part::dirty_log);
    ends[3] = unit::ns(c);
  });
  w.engine.run();
  // Core 0 owns the line: 1. Then to core 1 in its cluster: 10 more. Then to core 2, one step: 11.
  // At 100 the line is free; from core 2 to core 3, in one cluster: 10.
  CHECK(ends == std::vector<std::int64_t>{1, 11, 22, 110});
}

TEST_CASE("broadcast TLBIs queue for the answers of all cores, local ones ask nobody") {
  unit::world w;
  std::vector<std::int64_t> ends(4);
  for (std::size_t i = 0; i < 3; ++i)
    w.add(duration{}, [&, i](machine::cpu& c) {
      w.machine.tlbi_broadcast(c);
      ends[i] = unit::ns(c);
      CHECK(c.thread->time_in(part::tlbi) == nanoseconds(ends[i]));
    });
  w.add(duration{}, [&](machine::cpu& c) {
    w.machine.tlbi_local(c);
    ends[3] = unit::ns(c);
  });
  w.engine.run();
  // 16 cores answer in 160 ns, one request after the other; each issuer then has its own 100 ns.
  CHECK(ends == std::vector<std::int64_t>{260, 420, 580, 10});
  // Shorter than any: the answers, and half of the fixed part.
  CHECK(w.machine.tlbi_shortest() == nanoseconds(210));
}

TEST_CASE("loaded memory: slow-down as documented") {
  // One clear pass demands 1 GB/s, one clean pass 2 GB/s, of 4 GB/s.
  machine::bandwidth b(1'000'000'000, 2'000'000'000, 4'000'000'000, 64);
  CHECK(b.slowdown(0, 0) == 65536);
  std::uint64_t last = 0;
  for (std::uint32_t n = 0; n <= 64; ++n) {
    CHECK(static_cast<double>(b.slowdown(n, 0)) == Approx(65536 * slowdown(n / 4.0)).margin(1));
    CHECK(static_cast<double>(b.slowdown(3, n)) ==
          Approx(65536 * slowdown((3 + 2.0 * n) / 4)).margin(1));
    CHECK(b.slowdown(n, 0) > last);
    last = b.slowdown(n, 0);
  }
  // Demand equal to capacity: (1 + 1)^(3/4). Far above: demand over capacity and no more.
  CHECK(b.slowdown(4, 0) == static_cast<std::uint64_t>(65536 * 1.681792830507429 + 0.5));
  CHECK(static_cast<double>(b.slowdown(64, 64)) / 65536 == Approx(48).epsilon(0.01));
  CHECK(b.slowdown(64, 64) >= 48 * 65536);
}

TEST_CASE("equal transfers that start together end together") {
  for (const std::uint32_t n : {1U, 2U, 4U, 16U}) {
    unit::world w;
    machine::bandwidth dram(1'000'000'000, 1'000'000'000, 4'000'000'000, 17);
    std::vector<std::int64_t> ends;
    for (std::uint32_t i = 0; i < n; ++i)
      w.add(duration{}, [&](machine::cpu& c) {
        dram.transfer(*c.thread, part::zeroing, machine::pass::clear, engine::milliseconds(1));
        ends.push_back(c.thread->now().ps());
        CHECK(c.thread->time_in(part::zeroing).ps() == ends.back());
      });
    w.engine.run();
    REQUIRE(ends.size() == n);
    const double expected = 1e9 * slowdown(n / 4.0) / slowdown(0.25);
    for (const auto end : ends) {
      CHECK(static_cast<double>(end) == Approx(expected).epsilon(3e-5));
      CHECK(std::abs(end - ends[0]) <= 64);  // rounding to a picosecond at each end
    }
  }
}

TEST_CASE("a transfer that joins later slows the first one from then on") {
  // L: the load-free length of a pass whose stated length is 1 ms with its own demand.
  const double f1 = slowdown(0.25), f2 = slowdown(0.5);
  const double length = 1e9 / f1;
  unit::world w;
  machine::bandwidth dram(1'000'000'000, 1'000'000'000, 4'000'000'000, 17);
  std::vector<double> ends(3);
  const auto transfer = [&](std::size_t i) {
    return [&, i](machine::cpu& c) {
      dram.transfer(*c.thread, part::zeroing, machine::pass::clean, engine::milliseconds(1));
      ends[i] = static_cast<double>(c.thread->now().ps());
    };
  };
  w.add(duration{}, transfer(0));
  w.add(engine::microseconds(500), transfer(1));
  w.add(engine::milliseconds(5), transfer(2));
  w.engine.run();
  // The first has half of its pass behind it when the second comes; the rest at f2. The second
  // then has received as much and has its other half to go, alone again.
  const double first = 5e8 + length / 2 * f2;
  CHECK(ends[0] == Approx(first).epsilon(3e-5));
  CHECK(ends[1] == Approx(first + length / 2 * f1).epsilon(3e-5));
  CHECK(ends[2] == Approx(6e9).epsilon(3e-5));
  // Conservation: what was received, at the rates of the times when one or two were under way.
  CHECK(5e8 / f1 + 2 * (ends[0] - 5e8) / f2 + (ends[1] - ends[0]) / f1 ==
        Approx(2 * length).epsilon(3e-5));
}

TEST_CASE("a short pass pays for the load and does not add to it") {
  unit::world w;
  machine::bandwidth dram(1'000'000'000, 1'000'000'000, 4'000'000'000, 17);
  CHECK(dram.loaded(nanoseconds(100)) == nanoseconds(100));
  w.add(duration{}, [&](machine::cpu& c) {
    dram.transfer(*c.thread, part::zeroing, machine::pass::clear, engine::milliseconds(1));
    CHECK(static_cast<double>(c.thread->now().ps()) == Approx(1e9).epsilon(3e-5));
  });
  w.add(nanoseconds(10), [&](machine::cpu& c) {
    c.thread->sync();
    CHECK(static_cast<double>(dram.loaded(nanoseconds(100)).ps()) ==
          Approx(1e5 * slowdown(0.25)).epsilon(1e-4));
  });
  w.engine.run();
}
