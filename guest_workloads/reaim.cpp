// SPDX-License-Identifier: Apache-2.0
#include "guest_workloads/reaim.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "guest_workloads/guest_session.hpp"
#include "guest_workloads/reaim_guest.hpp"

namespace hvsim::workloads {

namespace {

using registry::value_type;

reaim_row run_load(guest_session& s, std::uint32_t processes) {
  const auto jobs = static_cast<std::uint32_t>(s.config.values.integer("workload.jobs"));
  const bool steal_clock = guest::make_system_options(s.config.values).back.steal_clock;
  std::vector<std::unique_ptr<reaim_load>> loads;
  for (const auto& g : s.guests)
    loads.push_back(std::make_unique<reaim_load>(g->os(), read_reaim_costs(s.config.values),
                                                 processes, jobs, steal_clock));
  s.run();
  return loads.front()->row();
}

void report_row(guest_session& s, const reaim_row& r) {
  const auto time = [](std::int64_t ticks) { return reaim_tick * ticks; };
  s.report("parent_time_s", "Parent time", time(r.parent_ticks));
  s.report("child_systime_s", "Children system time", time(r.system_ticks));
  s.report("child_utime_s", "Children user time", time(r.user_ticks));
  s.report("std_dev_time_s", "Standard deviation of the children's times",
           engine::duration{static_cast<std::int64_t>(r.standard_deviation() * 1e12)});
  auto& numbers = s.result.numbers;
  numbers.emplace_back("jobs_per_minute", r.jobs_per_minute());
  numbers.emplace_back("jobs_per_minute_per_child", r.jobs_per_minute() / r.processes);
  numbers.emplace_back("std_dev_percent", r.deviation_percent());
  numbers.emplace_back("jti_percent", r.job_timing_index());
}

void run_reaim(guest_session& s) {
  const registry::value_map& v = s.config.values;
  s.result.text = reaim_header();
  const auto processes = static_cast<std::uint32_t>(v.integer("workload.processes"));
  if (processes != 0) {
    const reaim_row row = run_load(s, processes);
    s.result.text.push_back(to_text(row));
    report_row(s, row);
    return;
  }
  reaim_steps steps(1, static_cast<std::uint32_t>(v.integer("workload.increment")),
                    static_cast<std::uint32_t>(v.integer("workload.last")));
  double best = 0;
  guest_session* here = &s;
  for (;;) {
    const reaim_row row = run_load(*here, steps.processes());
    s.result.text.push_back(to_text(row));
    best = std::max(best, row.jobs_per_minute());
    here->name = fmt::format("{} processes", row.processes);
    if (!steps.next(row.parent_ticks)) break;
    s.later.push_back(std::make_unique<guest_session>(s.config));
    here = s.later.back().get();
  }
  s.result.text.push_back(fmt::format("Max Jobs per Minute {:.2f}", best));
  s.result.numbers.emplace_back("max_jobs_per_minute", best);
}

std::vector<registry::parameter> reaim_parameters() {
  static constexpr double longest = 1e12;
  const auto time = [](const char* key, const char* value, const char* help) {
    return registry::parameter{key, value_type::time, value, help, 0.0, longest, {}};
  };
  return {
      {"workload.processes",
       value_type::integer,
       "0",
       "children of one load; 0: reaim's own sequence of loads",
       0.0,
       900.0,
       {}},
      {"workload.increment",
       value_type::integer,
       "16",
       "-i: first step between loads",
       1.0,
       900.0,
       {}},
      {"workload.last",
       value_type::integer,
       "256",
       "-e: no load has more children",
       1.0,
       900.0,
       {}},
      {"workload.jobs",
       value_type::integer,
       "100",
       "-j: calls per child before rounding",
       1.0,
       100000.0,
       {}},
      time("workload.job_time", "10.37ms", "user part of one call of a test"),
      {"workload.child_cpu_time",
       value_type::time,
       "0ns",
       "CPU time of one child, to which all costs are scaled; 0: as they are",
       0.0,
       longest * 1000,
       {}},
      time("workload.brk_time", "800ns", "one brk call of page_test"),
      time("workload.fault_time", "1500ns", "one page fault of page_test"),
      time("workload.call_time", "1us", "one call on a pipe, socket or semaphore"),
      time("workload.block_time", "1us", "read or write of 1 KiB of a file"),
      time("workload.shell_time", "600us", "kernel part of running sync in a shell"),
      time("workload.fork_time", "100us", "fork of a child"),
      time("workload.exit_time", "300us", "end of a child: its memory and files"),
      time("workload.reap_time", "20us", "wait of the parent for a dead child"),
      time("workload.signal_time", "2us", "signal to one child"),
      time("workload.hold_time", "300ns", "one critical section under a kernel lock"),
      time("workload.flush_time", "1600us", "flush of the disk's cache, once a commit"),
      time("workload.write_time", "1760us", "writing the data of each sync"),
      {"workload.spread",
       value_type::integer,
       "60",
       "parts in 1000 by which the user part of the slowest child's calls is longer",
       0.0,
       500.0,
       {}},
      {"workload.syncs", value_type::integer, "2", "syncs in one disk test", 0.0, 100.0, {}},
  };
}

}  // namespace

workload_entry reaim() {
  workload_entry e;
  e.info.name = "reaim";
  e.info.help = "the compute mix of reaim: processes that run the same jobs in random order";
  e.info.parameters = reaim_parameters();
  e.run_guest = run_reaim;
  return e;
}

}  // namespace hvsim::workloads
