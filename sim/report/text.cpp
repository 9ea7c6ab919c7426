// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "sim/report/render.hpp"
#include "sim/report/table.hpp"
#include "sim/report/time_text.hpp"

namespace hvsim::report {
namespace {

std::string titled(const std::string& title, const table& t) {
  return "\n" + title + "\n" + t.to_text(2);
}

std::string phases_text(const run_result& r) {
  table t({{"phase", align::left}, {"time"}, {"share"}});
  for (const auto& p : r.phases)
    t.add({p.name, seconds_text(p.time) + "s", percent_text(p.time.ps(), r.total_time.ps()) + "%"});
  t.add({"total", seconds_text(r.total_time) + "s", ""});
  return titled("Phases (virtual time)", t);
}

/// The columns of `perf lock contention` and what it does not know, longest total wait first.
std::string locks_text(const run_result& r) {
  std::vector<lock_result> locks = r.locks;
  std::stable_sort(locks.begin(), locks.end(),
                   [](const auto& a, const auto& b) { return a.total_wait > b.total_wait; });
  std::string out = fmt::format(
      "\nLock contention\n{:>12} {:>12} {:>12} {:>12} {:>14} {:>12} {:>12} {:>12}   {}\n\n",
      "contended", "total wait", "max wait", "avg wait", "acquired", "avg hold", "max hold", "type",
      "caller");
  for (const auto& l : locks) {
    const auto divisor = static_cast<std::int64_t>(std::max<std::uint64_t>(l.contended, 1));
    out += fmt::format("{:>12} {:>12} {:>12} {:>12} {:>14} {:>12} {:>12} {:>12}   {}\n",
                       l.contended, scaled_text(l.total_wait), scaled_text(l.max_wait),
                       scaled_text(l.total_wait / divisor), l.acquisitions,
                       scaled_text(l.hold.mean), scaled_text(l.max_hold), l.type, l.name);
  }
  return out;
}

std::string microseconds_text(engine::duration t) {
  return time_in(t, engine::microseconds(1), 2) + "us";
}

/// The columns of `perf kvm stat report`, most samples first.
std::string exits_text(const run_result& r) {
  std::vector<exit_result> exits = r.exits;
  std::stable_sort(exits.begin(), exits.end(),
                   [](const auto& a, const auto& b) { return a.samples > b.samples; });
  std::uint64_t samples = 0;
  engine::duration time;
  for (const auto& e : exits) {
    samples += e.samples;
    time += e.total;
  }
  std::string out = fmt::format(
      "\nAnalyze events for all VMs, all VCPUs:\n\n{:>20} {:>10} {:>9} {:>9} {:>11} {:>11} "
      "{:>16}\n\n",
      "VM-EXIT", "Samples", "Samples%", "Time%", "Min Time", "Max Time", "Avg time");
  for (const auto& e : exits) {
    const auto divisor = static_cast<std::int64_t>(std::max<std::uint64_t>(e.samples, 1));
    out += fmt::format(
        "{:>20} {:>10} {:>8}% {:>8}% {:>11} {:>11} {:>16}\n", e.reason, e.samples,
        percent_text(static_cast<std::int64_t>(e.samples), static_cast<std::int64_t>(samples)),
        percent_text(e.total.ps(), time.ps()), microseconds_text(e.min), microseconds_text(e.max),
        microseconds_text(e.total / divisor));
  }
  out += fmt::format("\nTotal Samples:{}, Total events handled time:{}.\n", samples,
                     microseconds_text(time));
  return out;
}

std::string latency_text(const latency_summary& s) {
  table t({{"faults"}, {"min"}, {"mean"}, {"p50"}, {"p90"}, {"p99"}, {"p99.9"}, {"max"}});
  t.add({fmt::format("{}", s.count), scaled_text(s.min), scaled_text(s.mean), scaled_text(s.p50),
         scaled_text(s.p90), scaled_text(s.p99), scaled_text(s.p999), scaled_text(s.max)});
  return titled("Fault latency", t);
}

engine::duration time_named(const std::vector<named_time>& times, const std::string& name) {
  for (const auto& t : times)
    if (t.name == name) return t.time;
  return {};
}

engine::duration sum(const std::vector<named_time>& times) {
  engine::duration out;
  for (const auto& t : times) out += t.time;
  return out;
}

std::string breakdown_text(const run_result& r) {
  std::vector<column> columns = {{"part", align::left}, {"time"}, {"run"}};
  for (const auto& p : r.phases) columns.push_back({p.name});
  table t(std::move(columns));
  const engine::duration total = sum(r.breakdown);
  for (const auto& b : r.breakdown) {
    std::vector<std::string> row = {b.name, seconds_text(b.time) + "s",
                                    percent_text(b.time.ps(), total.ps()) + "%"};
    for (const auto& p : r.phases)
      row.push_back(percent_text(time_named(p.breakdown, b.name).ps(), sum(p.breakdown).ps()) +
                    "%");
    t.add(std::move(row));
  }
  t.add({"total", seconds_text(total) + "s"});
  return titled(fmt::format("Where {} threads spent their time", r.threads), t);
}

std::string counts_text(const run_result& r) {
  std::vector<std::string> names;
  std::vector<column> columns = {{"count", align::left}};
  for (const auto& p : r.phases) {
    columns.push_back({p.name});
    for (const auto& c : p.counts)
      if (std::find(names.begin(), names.end(), c.name) == names.end()) names.push_back(c.name);
  }
  if (names.empty()) return {};
  table t(std::move(columns));
  for (const auto& name : names) {
    std::vector<std::string> row = {name};
    for (const auto& p : r.phases) {
      std::uint64_t n = 0;
      for (const auto& c : p.counts)
        if (c.name == name) n = c.value;
      row.push_back(fmt::format("{}", n));
    }
    t.add(std::move(row));
  }
  return titled("Counts by phase", t);
}

}  // namespace

std::string to_text(const run_result& r) {
  std::string out;
  for (const auto& line : r.text) out += line + "\n";
  if (!r.setting.empty()) out += fmt::format("\nSimulated: {}\n", r.setting);
  if (!r.phases.empty()) out += phases_text(r);
  if (!r.locks.empty()) out += locks_text(r);
  if (!r.exits.empty()) out += exits_text(r);
  if (r.fault_latency.count != 0) out += latency_text(r.fault_latency);
  if (!r.breakdown.empty()) out += breakdown_text(r);
  return out + counts_text(r);
}

}  // namespace hvsim::report
