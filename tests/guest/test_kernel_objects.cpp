// SPDX-License-Identifier: Apache-2.0
// Pipes and page faults of a guest, and the tables of back ends.
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <set>

#include "guest/world.hpp"
#include "sim/guest/page_faults.hpp"
#include "sim/guest/pipe.hpp"

using namespace guest_test;
using sched::account;

TEST_CASE("a full pipe keeps its writer until a reader has made room") {
  world w(2, 2, free_backend(), "qspinlock");
  kernel& k = w.guest->os();
  hvsim::guest::pipe p(k, "pipe", 2, {});
  std::vector<std::int64_t> written;
  k.start("writer", sim_time{},
          [&](task& t) {
            for (int i = 0; i < 5; ++i) {
              p.write(t);
              written.push_back((t.exec.now() - sim_time{}).ps() / 1'000'000);
            }
          },
          {0, 1});
  std::uint32_t most = 0;
  k.start("reader", sim_time{},
          [&](task& t) {
            t.exec.run(account::user, microseconds(100));
            for (int i = 0; i < 5; ++i) {
              t.exec.settle();
              most = std::max(most, p.messages());
              p.read(t);
              t.exec.run(account::user, microseconds(10));
            }
          },
          {1, 1});
  w.run({0, 1});
  // Two fit at once; the reader takes one at 100, 110 and 120 us.
  CHECK(written == std::vector<std::int64_t>{0, 0, 100, 110, 120});
  CHECK(most == 2);
  CHECK(p.messages() == 0);
}

TEST_CASE("a reader of an empty pipe sleeps until there is a message") {
  world w(2, 2, free_backend(), "qspinlock");
  kernel& k = w.guest->os();
  hvsim::guest::pipe p(k, "pipe", 8, {});
  duration waited;
  k.start("reader", sim_time{},
          [&](task& t) {
            p.read(t);
            waited = t.exec.now() - sim_time{};
          },
          {0, 1});
  k.start("writer", sim_time{},
          [&](task& t) {
            t.exec.run(account::user, milliseconds(3));
            p.write(t);
          },
          {1, 1});
  w.run({0, 1});
  CHECK(waited >= milliseconds(3));
  CHECK(waited < milliseconds(3) + microseconds(1));
  CHECK(w.guest->machine().vcpu(0).halt_wakeup == 1);
}

TEST_CASE("pages take the LRU lock every 15 and the zone lock every 63") {
  world w(1, 1, free_backend(), "qspinlock");
  kernel& k = w.guest->os();
  page_faults faults(k, microseconds(1), microseconds(2));
  k.start("t", sim_time{}, [&](task& t) {
    faults.touch(t, 100);
    faults.touch(t, 26);
    faults.free(t, 126, microseconds(5));
  });
  w.run({0});
  // 252 pages in all: 16 batches of 15 and 12 over; 4 of 63. Freeing costs 1/9 of 5 us nine times,
  // rounded down to ps.
  CHECK(k.spinlocks()[0]->stats().acquisitions() == 16);
  CHECK(k.spinlocks()[1]->stats().acquisitions() == 4);
  CHECK(k.ended().in(account::kernel) ==
        microseconds(126) + microseconds(2) * 20 + duration{5'000'000 / 9 * 9});
}

TEST_CASE("every value of a back end has a source") {
  std::set<std::string_view> names;
  for (const backend_table& t : backend_tables()) {
    CAPTURE(t.name);
    CHECK(names.insert(t.name).second);
    const backend made = find_backend(std::string(t.name));
    std::set<std::string_view> rows;
    for (const backend_cost& c : t.costs) {
      CAPTURE(c.name);
      CHECK(rows.insert(c.name).second);
      CHECK_FALSE(c.source.empty());
      CHECK(made.*c.field == c.value);
    }
    for (const backend_habit& h : t.habits) {
      CHECK(rows.insert(h.name).second);
      CHECK_FALSE(h.source.empty());
      CHECK(made.*h.field);
    }
  }
  CHECK_THROWS_AS(find_backend("bochs"), std::invalid_argument);
}

TEST_CASE("the page on guests has every source of the back ends") {
  std::ifstream in(std::string(HVSIM_SOURCE_DIR) + "/docs/guests.md");
  REQUIRE(in);
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  const auto row = [&](std::string_view name, std::string_view backend, evidence kind,
                       std::string_view source) {
    const std::string end =
        " | " + std::string(to_string(kind)) + " | " + std::string(source) + " |\n";
    CAPTURE(name, backend, source);
    // The row of this source names the value, and the back end unless all have it.
    std::size_t at = page.find(end);
    bool found = false;
    for (; at != std::string::npos && !found; at = page.find(end, at + 1)) {
      const std::size_t begin = page.rfind('\n', at) + 1;
      const std::string line = page.substr(begin, at - begin);
      found = line.starts_with("| `" + std::string(name) + "` |") &&
              (line.ends_with("| all") ||
               line.find("`" + std::string(backend) + "`") != std::string::npos);
    }
    CHECK(found);
  };
  for (const backend_table& t : backend_tables()) {
    for (const backend_cost& c : t.costs) row(c.name, t.name, c.kind, c.source);
    for (const backend_habit& h : t.habits) row(h.name, t.name, h.kind, h.source);
  }
}

TEST_CASE("back ends poll, spin and kick as their sources say") {
  CHECK(find_backend("kvm-arm64").halt_poll_max == microseconds(500));
  CHECK(find_backend("kvm-x86").halt_poll_max == microseconds(200));
  CHECK(find_backend("kvm-x86-3.11").halt_poll_max == duration{});
  CHECK(find_backend("kvm-arm64").pending_loops == 1);
  CHECK(find_backend("kvm-x86").pending_loops == 512);
  CHECK_FALSE(find_backend("kvm-arm64").kick_is_kept);
  CHECK(find_backend("kvm-arm64-pv").kick_is_kept);
  CHECK(find_backend("kvm-loongarch").spin == spin_exit::none);
  backend b = free_backend();
  b.cycle = nanoseconds(1);
  CHECK(twed_delay(b, 0) == nanoseconds(256));
  CHECK(twed_delay(b, 15) == nanoseconds(8'388'608));
}
