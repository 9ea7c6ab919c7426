// SPDX-License-Identifier: Apache-2.0
#include "guest_workloads/dbench.hpp"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "guest_workloads/draws.hpp"
#include "guest_workloads/guest_session.hpp"
#include "guest_workloads/parameter_rows.hpp"

namespace hvsim::workloads {

namespace {

using engine::duration;
using engine::sim_time;
using guest::task;
using sched::account;

struct options {
  std::uint32_t clients;
  duration warmup, length, user, call, hold;
  std::uint64_t bytes;  ///< that a call moves
};

options read(const registry::value_map& v) {
  options o{};
  o.clients = static_cast<std::uint32_t>(v.integer("workload.clients"));
  if (o.clients == 0) o.clients = static_cast<std::uint32_t>(v.integer("vm.vcpus"));
  o.warmup = v.time("workload.warmup");
  o.length = v.time("workload.duration");
  o.user = v.time("workload.user_time");
  o.call = v.time("workload.call_time");
  o.hold = v.time("workload.hold_time");
  o.bytes = v.size("workload.bytes").value();
  return o;
}

/// One client: calls, each of which takes one of the file system's spinlocks for a moment. Without
/// the random starts all vCPUs of a VM would get their slices at the same times.
void client(guest::kernel& k, task& t, const options& o,
            const std::array<guest::spinlock*, 3>& locks, std::uint64_t& calls) {
  k.sleep_for(t, duration{static_cast<std::int64_t>(
                     t.random.below(static_cast<std::uint64_t>(o.warmup.ps()) + 1))});
  const sim_time counted = sim_time{} + o.warmup;
  const sim_time end = counted + o.length;
  while (t.exec.fiber().now() + t.exec.pending() < end) {
    t.exec.run(account::user, exponential_draw(t.random, o.user));
    t.exec.run(account::kernel, exponential_draw(t.random, o.call));
    locks[t.random.below(locks.size())]->run_under(t, o.hold);
    if (t.exec.fiber().now() >= counted) ++calls;
  }
}

void run_dbench(guest_session& s) {
  const options o = read(s.config.values);
  std::uint64_t calls = 0;
  for (const auto& g : s.guests) {
    guest::kernel& k = g->os();
    constexpr auto on = guest::interrupts::on;
    const std::array<guest::spinlock*, 3> locks{&k.make_lock("d_lock", on),
                                                &k.make_lock("dcache_lru_lock", on),
                                                &k.make_lock("inode_sb_list_lock", on)};
    for (std::uint32_t i = 0; i < o.clients; ++i)
      k.start(fmt::format("dbench-{}", i), sim_time{},
              [&k, &o, locks, &calls](task& t) { client(k, t, o, locks, calls); });
  }
  s.expected = o.warmup + o.length;
  s.run();
  const double seconds = static_cast<double>((s.result.end - sim_time{} - o.warmup).ps()) / 1e12;
  const double rate =
      static_cast<double>(calls * o.bytes) / 1e6 / seconds / static_cast<double>(s.guests.size());
  s.report("elapsed", "Elapsed", s.result.end - sim_time{});
  if (calls != 0)
    s.report("per_call", "Time for each call of a VM",
             (s.result.end - sim_time{} - o.warmup) * static_cast<std::int64_t>(s.guests.size()) /
                 static_cast<std::int64_t>(calls));
  s.result.numbers.emplace_back("throughput", rate);
  s.result.text.push_back(fmt::format("Throughput {:.1f} MB/sec  {} clients", rate, o.clients));
}

}  // namespace

workload_entry dbench() {
  workload_entry e;
  e.info.name = "dbench";
  e.info.help = "clients that call on files in memory, on three locks of the file system";
  const auto time = [](const char* key, const char* value, const char* help) {
    return time_row(key, value, help, 1e14);
  };
  e.info.parameters = {
      count_row("workload.clients", "0", "of each VM; 0: one a vCPU", 0.0, 900.0),
      time("workload.warmup", "200ms", "clients start at random times within it"),
      time("workload.duration", "1s", "for which calls are counted after it"),
      time("workload.user_time", "4us", "user work between two calls, mean"),
      time("workload.call_time", "12us", "a call without its lock, mean"),
      time("workload.hold_time", "300ns", "one critical section"),
      size_row("workload.bytes", "8KiB", "that a call moves", 0.0, 1e9),
  };
  e.run_guest = run_dbench;
  return e;
}

}  // namespace hvsim::workloads
