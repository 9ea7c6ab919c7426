// SPDX-License-Identifier: Apache-2.0
#include "guest_workloads/lock_torture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "guest_workloads/draws.hpp"
#include "guest_workloads/guest_session.hpp"

namespace hvsim::workloads {

namespace {

using engine::duration;
using engine::sim_time;
using registry::value_type;
using sched::account;

struct options {
  std::uint32_t threads;
  duration length, hold, think;
  draw hold_draw, think_draw;
};

options read(const registry::value_map& v) {
  options o{};
  o.threads = static_cast<std::uint32_t>(v.integer("workload.threads"));
  if (o.threads == 0) o.threads = static_cast<std::uint32_t>(v.integer("vm.vcpus"));
  o.length = v.time("workload.duration");
  o.hold = v.time("workload.hold");
  o.think = v.time("workload.think");
  o.hold_draw = find_draw(v.text("workload.hold_distribution"));
  o.think_draw = find_draw(v.text("workload.think_distribution"));
  return o;
}

/// As lock_torture_stats prints it: "???" when one thread had more than twice what another had.
std::string stats_line(const std::vector<std::uint64_t>& done) {
  std::uint64_t total = 0;
  for (const std::uint64_t n : done) total += n;
  const auto [least, most] = std::minmax_element(done.begin(), done.end());
  return fmt::format("Writes:  Total: {}  Max/Min: {}/{} {}  Fail: 0", total, *most, *least,
                     *most / 2 > *least ? "???" : "");
}

void torture(guest_session& s) {
  const options o = read(s.config.values);
  std::vector<std::uint64_t> done(std::size_t{o.threads} * s.guests.size());
  std::size_t first = 0;
  for (const auto& g : s.guests) {
    guest::kernel& k = g->os();
    guest::spinlock& lock = k.make_lock("torture_spinlock", guest::interrupts::on);
    for (std::uint32_t i = 0; i < o.threads; ++i) {
      std::uint64_t& mine = done[first + i];
      k.start(fmt::format("lock_torture_wri-{}", i), sim_time{},
              [&o, &lock, &mine](guest::task& t) {
                const sim_time end = sim_time{} + o.length;
                while (t.exec.fiber().now() + t.exec.pending() < end) {
                  t.exec.run(account::kernel, o.think_draw(t.random, o.think));
                  lock.lock(t);
                  t.exec.run(account::kernel, o.hold_draw(t.random, o.hold));
                  lock.unlock(t);
                  ++mine;
                }
              });
    }
    first += o.threads;
  }
  s.expected = o.length;
  s.run();
  std::uint64_t total = 0;
  for (const std::uint64_t n : done) total += n;
  s.result.text.push_back(stats_line(done));
  s.result.numbers.emplace_back("acquisitions", static_cast<double>(total));
  s.report("elapsed", "Elapsed", s.result.end - sim_time{});
  if (total != 0)
    s.report("per_acquisition", "Time per acquisition",
             (s.result.end - sim_time{}) / static_cast<std::int64_t>(total));
}

}  // namespace

workload_entry lock_torture() {
  workload_entry e;
  e.info.name = "lock_torture";
  e.info.help = "the kernel's locktorture: tasks of a guest take one spinlock over and over";
  const std::vector<std::string> shapes = draw_names();
  e.info.parameters = {
      {"workload.threads",
       value_type::integer,
       "0",
       "tasks of each VM; 0: one a vCPU",
       0.0,
       900.0,
       {}},
      {"workload.duration",
       value_type::time,
       "100ms",
       "until when tasks begin another round",
       0.0,
       1e14,
       {}},
      {"workload.hold", value_type::time, "1us", "mean time with the lock", 0.0, 1e12, {}},
      {"workload.think", value_type::time, "5us", "mean time without it", 0.0, 1e12, {}},
      {"workload.hold_distribution",
       value_type::choice,
       "constant",
       "how hold times are spread",
       {},
       {},
       shapes},
      {"workload.think_distribution",
       value_type::choice,
       "exponential",
       "how times without the lock are spread",
       {},
       {},
       shapes},
  };
  e.run_guest = torture;
  return e;
}

}  // namespace hvsim::workloads
