// SPDX-License-Identifier: Apache-2.0
#include "guest_workloads/reaim_guest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "sim/engine/wide.hpp"
#include "sim/guest/parameters.hpp"

namespace hvsim::workloads {

using engine::duration;
using engine::sim_time;
using guest::task;
using sched::account;

namespace {

// page_test: brk calls, and pages touched (src/page_test.c).
constexpr std::int64_t page_test_brks = 1700;
constexpr std::int64_t page_test_faults = 1600;
constexpr std::int64_t pages_per_lru_lock = 15;
constexpr std::int64_t pages_per_zone_lock = 63;
// stream_pipe and udp_test: 99 writes and as many reads; shared_memory: 400 semop.
constexpr std::int64_t stream_calls = 2 * 99;
constexpr std::int64_t semaphore_calls = 400;
// data/reaim.config: FILESIZE 10k, POOLSIZE 1m.
constexpr std::uint32_t file_kib = 10;
constexpr std::uint32_t pool_kib = 1024;
constexpr std::uint32_t directory_walk = 3;  // disk_src: stat, creat, unlink

bool uses_disk(reaim_test t) {
  return t == reaim_test::disk_rd || t == reaim_test::disk_cp || t == reaim_test::disk_wrt ||
         t == reaim_test::disk_src;
}

std::uint32_t file_operations(reaim_test t, std::uint32_t blocks) {
  switch (t) {
    case reaim_test::disk_rd:
    case reaim_test::disk_cp:
      return 2 * blocks;  // each block written and read
    case reaim_test::disk_wrt:
      return blocks;
    case reaim_test::disk_src:
      return directory_walk;
    default:
      return 0;
  }
}

/// What cold CPUs add to the CPU time of a child, in the mean, if each is cold once.
duration slowness(const registry::value_map& v, std::uint32_t processes) {
  const guest::host_options host = guest::make_host_options(v);
  const sched::warmth_options& w = host.scheduler.warmth;
  const auto vcpus = static_cast<std::uint32_t>(v.integer("vm.vcpus"));
  const std::uint32_t used = std::min({processes, vcpus, host.scheduler.cpus});
  return (sched::warmth(w).time_for(w.warm_up) - w.warm_up) * static_cast<std::int64_t>(used) /
         static_cast<std::int64_t>(processes);
}

/// A slower host is slower in all of it, the path to the disk too.
void scale_to(reaim_costs& c, duration child, std::uint32_t processes, std::uint32_t jobs) {
  const std::vector<reaim_test> calls = reaim_calls(reaim_compute(), jobs);
  const duration before = c.job * static_cast<std::int64_t>(calls.size()) +
                          kernel_work(c, calls, reaim_blocks(processes));
  if (before == duration{}) throw std::runtime_error("workload.child_cpu_time: no cost to scale");
  for (duration* d : {&c.job, &c.brk, &c.fault, &c.call, &c.block, &c.shell, &c.fork, &c.exit,
                      &c.reap, &c.signal, &c.hold, &c.flush, &c.write})
    *d = duration{static_cast<std::int64_t>(static_cast<engine::wide>(d->ps()) *
                                            static_cast<engine::wide>(child.ps()) /
                                            static_cast<engine::wide>(before.ps()))};
  if (c.job == duration{})
    throw std::runtime_error("workload.child_cpu_time: too short for the work of a child");
}

std::int64_t ticks_between(sim_time a, sim_time b) {
  return b.ps() / reaim_tick.ps() - a.ps() / reaim_tick.ps();
}

}  // namespace

reaim_costs read_reaim_costs(const registry::value_map& v) {
  reaim_costs c;
  c.job = v.time("workload.job_time");
  c.brk = v.time("workload.brk_time");
  c.fault = v.time("workload.fault_time");
  c.call = v.time("workload.call_time");
  c.block = v.time("workload.block_time");
  c.shell = v.time("workload.shell_time");
  c.fork = v.time("workload.fork_time");
  c.exit = v.time("workload.exit_time");
  c.reap = v.time("workload.reap_time");
  c.signal = v.time("workload.signal_time");
  c.hold = v.time("workload.hold_time");
  c.flush = v.time("workload.flush_time");
  c.write = v.time("workload.write_time");
  c.syncs = static_cast<std::uint32_t>(v.integer("workload.syncs"));
  c.spread_permille = static_cast<std::uint32_t>(v.integer("workload.spread"));
  const auto processes = static_cast<std::uint32_t>(v.integer("workload.processes"));
  const duration child = v.time("workload.child_cpu_time");
  if (child != duration{} && processes != 0) {
    const duration warm = child - slowness(v, processes);
    if (warm <= duration{})
      throw std::runtime_error("workload.child_cpu_time: shorter than what cold CPUs add");
    scale_to(c, warm, processes, static_cast<std::uint32_t>(v.integer("workload.jobs")));
  }
  return c;
}

duration job_time(const reaim_costs& c, std::uint32_t index) {
  // Multiples of the golden section modulo 1, in units of 2^-16; the first is one half.
  constexpr std::uint32_t golden = 40503;
  const auto place = static_cast<std::int64_t>((0x8000U + golden * index) & 0xffffU);
  const std::int64_t off = (2 * place - 0x10000) * static_cast<std::int64_t>(c.spread_permille);
  return c.job + duration{c.job.ps() / 1000 * off / 0x10000};
}

std::uint32_t reaim_blocks(std::uint32_t processes) {
  return file_kib + pool_kib / processes;
}

duration kernel_work(const reaim_costs& c, reaim_test which, std::uint32_t blocks) {
  switch (which) {
    case reaim_test::page_test:
      return c.fault * page_test_faults + c.brk * page_test_brks;
    case reaim_test::stream_pipe:
    case reaim_test::udp_test:
      return c.call * stream_calls;
    case reaim_test::shared_memory:
      return c.call * semaphore_calls;
    default:
      if (!uses_disk(which)) return {};
      return c.block * file_operations(which, blocks) + c.shell * c.syncs;
  }
}

duration kernel_work(const reaim_costs& c, const std::vector<reaim_test>& calls,
                     std::uint32_t blocks) {
  duration all = c.exit;
  for (const reaim_test t : calls) all += kernel_work(c, t, blocks);
  return all;
}

reaim_locks::reaim_locks(guest::kernel& k)
    : tasklist(k.make_lock("tasklist_lock")),
      lru(k.make_lock("lru_lock")),
      zone(k.make_lock("zone_lock")),
      inode(k.make_lock("inode_hash_lock", guest::interrupts::on)),
      journal(k.make_lock("j_state_lock", guest::interrupts::on)) {}

reaim_load::reaim_load(guest::kernel& k, const reaim_costs& costs, std::uint32_t processes,
                       std::uint32_t jobs, bool steal_clock)
    : kernel_(k),
      costs_(costs),
      locks_(k),
      disk_(k, costs.flush, costs.write),
      blocks_(reaim_blocks(processes)),
      steal_clock_(steal_clock) {
  row_.processes = processes;
  row_.jobs = static_cast<std::uint32_t>(reaim_calls(reaim_compute(), jobs).size());
  parent_ = &k.start("reaim", sim_time{}, [this, jobs](task& t) {
    const std::vector<reaim_test> calls = reaim_calls(reaim_compute(), jobs);
    for (std::uint32_t i = 0; i < row_.processes; ++i) {
      t.exec.run(account::kernel, costs_.fork);
      brief(t, locks_.tasklist);
      kernel_.fork(t, fmt::format("reaim-{}", i + 1),
                   [this, i, calls](task& c) { child(c, i, calls); });
    }
    parent(t);
  });
}

void reaim_load::parent(task& t) {
  kernel_.sleep_for(t, engine::seconds(1));
  start_ = t.exec.now();
  started_ = true;
  for (const auto& other : kernel_.tasks()) {
    if (other.get() == &t) continue;
    t.exec.run(account::kernel, costs_.signal);
    kernel_.wake(t, *other);
  }
  while (row_.child_ticks.size() < row_.processes) {
    t.exec.settle();
    if (dead_.empty()) {
      kernel_.sleep(t);
    } else {
      reap(t);
    }
  }
  row_.parent_ticks = ticks_between(start_, t.exec.now());
  row_.user_ticks = children_.user.ps() / reaim_tick.ps();
  row_.system_ticks = children_.system.ps() / reaim_tick.ps();
}

void reaim_load::reap(task& t) {
  const task* child = dead_.back();
  dead_.pop_back();
  const guest::cpu_times used = child->times(steal_clock_);
  children_.user += used.user;
  children_.system += used.system;
  t.exec.run(account::kernel, costs_.reap);
  brief(t, locks_.tasklist);
  row_.child_ticks.push_back(ticks_between(start_, t.exec.now()));
}

void reaim_load::child(task& t, std::uint32_t index, std::vector<reaim_test> calls) {
  shuffle(calls, t.random);
  t.exec.settle();
  while (!started_) kernel_.sleep(t);
  const duration job = job_time(costs_, index);
  for (const reaim_test c : calls) {
    t.exec.run(account::user, job);
    kernel_part(t, c);
  }
  t.exec.run(account::kernel, costs_.exit);
  brief(t, locks_.tasklist);
  t.exec.settle();
  dead_.push_back(&t);
  kernel_.wake(t, *parent_);
}

void reaim_load::brief(task& t, guest::spinlock& l) {
  l.lock(t);
  t.exec.run(account::kernel, costs_.hold);
  l.unlock(t);
}

void reaim_load::kernel_part(task& t, reaim_test which) {
  if (which == reaim_test::page_test) {
    page_test(t);
  } else if (uses_disk(which)) {
    file_test(t, which);
  } else {
    t.exec.run(account::kernel, kernel_work(costs_, which, blocks_));
  }
}

void reaim_load::page_test(task& t) {
  std::int64_t brks = 0;
  for (std::int64_t pages = 0; pages < page_test_faults;) {
    const std::int64_t n = std::min(pages_per_lru_lock, page_test_faults - pages);
    const std::int64_t brks_now = page_test_brks * (pages + n) / page_test_faults - brks;
    t.exec.run(account::kernel, costs_.fault * n + costs_.brk * brks_now);
    brief(t, locks_.lru);
    if ((pages + n) / pages_per_zone_lock != pages / pages_per_zone_lock) brief(t, locks_.zone);
    pages += n;
    brks += brks_now;
  }
}

void reaim_load::file_test(task& t, reaim_test which) {
  brief(t, locks_.inode);
  t.exec.run(account::kernel, costs_.block * file_operations(which, blocks_));
  for (std::uint32_t i = 0; i < costs_.syncs; ++i) {
    t.exec.run(account::kernel, costs_.shell);
    brief(t, locks_.tasklist);
    brief(t, locks_.journal);
    disk_.sync(t);
  }
}

}  // namespace hvsim::workloads
