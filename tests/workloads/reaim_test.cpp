// SPDX-License-Identifier: Apache-2.0
// reaim's own arithmetic, against the published table and its source.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <vector>

#include "guest_workloads/reaim_guest.hpp"
#include "guest_workloads/reaim_mix.hpp"

using namespace hvsim::workloads;

TEST_CASE("every child of the compute mix makes 101 calls") {
  const auto calls = reaim_calls(reaim_compute(), 100);
  CHECK(calls.size() == 101);
  std::map<reaim_test, int> of;
  for (const reaim_test t : calls) ++of[t];
  // Weights of 50, 40, 30, 20 and 10 out of 820.
  CHECK(of[reaim_test::page_test] == 6);
  CHECK(of[reaim_test::div_double] == 5);
  CHECK(of[reaim_test::disk_rd] == 4);
  CHECK(of[reaim_test::stream_pipe] == 2);
  CHECK(of[reaim_test::disk_cp] == 1);
}

TEST_CASE("a shuffle changes the order and nothing else") {
  auto calls = reaim_calls(reaim_compute(), 100);
  const auto before = calls;
  hvsim::engine::random_stream random(1, 7);
  shuffle(calls, random);
  CHECK(calls != before);
  CHECK(std::is_permutation(calls.begin(), calls.end(), before.begin(), before.end()));
}

TEST_CASE("the published times lead to the published loads") {
  // linux-kernel, 17 September 2018: reaim -i 16 -e 256.
  struct run {
    std::vector<std::uint32_t> loads;
    std::vector<std::int64_t> ticks;
  };
  const std::vector<run> runs{
      {{1, 17, 33, 49, 65, 81, 97, 113, 129, 145, 178, 211, 244},
       {116, 140, 217, 284, 371, 463, 555, 628, 720, 802, 975, 1191, 1330}},
      {{1, 17, 33, 49, 65, 81, 97, 113, 129, 145, 179, 213, 247},
       {107, 121, 188, 304, 366, 450, 533, 620, 696, 786, 971, 1170, 1345}}};
  for (const run& r : runs) {
    reaim_steps steps(1, 16, 256);
    for (std::size_t i = 0; i < r.loads.size(); ++i) {
      CHECK(steps.processes() == r.loads[i]);
      CHECK(steps.next(r.ticks[i]) == (i + 1 < r.loads.size()));
    }
  }
}

TEST_CASE("the step follows the growth of the time from the tenth load on") {
  reaim_steps steps(1, 16, 100000);
  for (int i = 0; i < 9; ++i) steps.next(100);
  CHECK(steps.processes() == 1 + 9 * 16);
  steps.next(140);  // grew by 1.4: 16 / 2.4 = 6
  CHECK(steps.processes() == 145 + 6);
  steps.next(175);  // 1.25: unchanged
  CHECK(steps.processes() == 151 + 6);
  steps.next(175);  // 1.0: 6 * 2
  CHECK(steps.processes() == 157 + 12);
}

TEST_CASE("a row of the table") {
  reaim_row r;
  r.processes = 17;
  r.parent_ticks = 140;
  r.system_ticks = 75;
  r.user_ticks = 1922;
  r.child_ticks = {100, 120, 140};
  // 101 * 17 * 60 / 1.40 s, as published for 17 processes.
  CHECK(r.jobs_per_minute() == Approx(73585.71).epsilon(1e-7));
  // Mean 1.2 s; deviations -0.2, 0, 0.2 s: sqrt(0.08 / 3).
  CHECK(r.standard_deviation() == Approx(0.1632993));
  CHECK(r.deviation_percent() == Approx(13.608276));
  CHECK(r.job_timing_index() == 86);
  CHECK(to_text(r) ==
        "17      1.40     0.75    19.22   73585.71   4328.57    0.16     13.61    86");
}

TEST_CASE("the kernel's work of a child follows from the calls") {
  reaim_costs c;
  c.block = hvsim::engine::microseconds(1);
  c.brk = hvsim::engine::nanoseconds(100);
  c.exit = hvsim::engine::milliseconds(1);
  const auto calls = reaim_calls(reaim_compute(), 100);
  // FILESIZE 10 KiB + POOLSIZE 1 MiB / 17 processes = 70 blocks; 4 tests of 2 n blocks, one of 2 n,
  // two of n, and 3 operations: 12 * 70 + 3 = 843 us. 6 * 1700 brk calls: 1020 us. 1 ms at the end.
  CHECK(reaim_blocks(17) == 70);
  CHECK(kernel_work(c, calls, 70) == hvsim::engine::microseconds(843 + 1020 + 1000));
}

TEST_CASE("children differ by the spread, and hardly in the mean") {
  reaim_costs c;
  c.job = hvsim::engine::milliseconds(10);
  c.spread_permille = 100;
  CHECK(job_time(c, 0) == c.job);
  hvsim::engine::duration sum;
  for (std::uint32_t i = 0; i < 100; ++i) {
    const auto t = job_time(c, i);
    CHECK(t >= hvsim::engine::milliseconds(9));
    CHECK(t <= hvsim::engine::milliseconds(11));
    sum += t;
  }
  CHECK(static_cast<double>(sum.ps()) == Approx(1e12).epsilon(0.002));
}
