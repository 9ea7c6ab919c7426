// SPDX-License-Identifier: Apache-2.0
#include "sim/report/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/report/fields.hpp"
#include "sim/report/time_text.hpp"

namespace hvsim::report {
namespace {

class collector {
 public:
  void count(std::string path, std::uint64_t n) {
    out_.push_back({std::move(path), static_cast<std::int64_t>(n), metric_unit::count});
  }
  void size(std::string path, std::uint64_t n) {
    out_.push_back({std::move(path), static_cast<std::int64_t>(n), metric_unit::bytes});
  }
  void time(std::string path, engine::duration t) {
    out_.push_back({std::move(path), t.ps(), metric_unit::picoseconds});
  }
  /// Every count and time of a row.
  template <class Row>
  void row(const std::string& prefix, const Row& from) {
    for (const auto& f : fields<Row>::counts)
      count(fmt::format("{}.{}", prefix, f.name), from.*f.at);
    for (const auto& f : fields<Row>::times) time(fmt::format("{}.{}", prefix, f.name), from.*f.at);
  }
  std::vector<metric> take() { return std::move(out_); }

 private:
  std::vector<metric> out_;
};

/// Names in order of first appearance over all phases.
std::vector<std::string> count_names(const run_result& r) {
  std::vector<std::string> names;
  for (const auto& p : r.phases)
    for (const auto& c : p.counts)
      if (std::find(names.begin(), names.end(), c.name) == names.end()) names.push_back(c.name);
  return names;
}

std::uint64_t count_of(const phase_result& p, const std::string& name) {
  for (const auto& c : p.counts)
    if (c.name == name) return c.value;
  return 0;
}

void add_lock(collector& out, const std::string& prefix, const lock_result& l) {
  out.row(prefix, l);
  const auto divisor = static_cast<std::int64_t>(std::max<std::uint64_t>(l.contended, 1));
  out.time(prefix + ".avg_wait", l.total_wait / divisor);
}

void add_locks(collector& out, const run_result& r) {
  std::vector<std::string> seen;
  for (const auto& first : r.locks) {
    if (std::find(seen.begin(), seen.end(), first.name) != seen.end()) continue;
    seen.push_back(first.name);
    lock_result sum;
    for (const auto& l : r.locks) {
      if (l.name != first.name) continue;
      sum.acquisitions += l.acquisitions;
      sum.contended += l.contended;
      sum.total_wait += l.total_wait;
      sum.total_hold += l.total_hold;
      sum.max_wait = std::max(sum.max_wait, l.max_wait);
      sum.max_hold = std::max(sum.max_hold, l.max_hold);
    }
    add_lock(out, "lock." + first.name, sum);
    for (const auto& l : r.locks)
      if (l.name == first.name) add_lock(out, fmt::format("lock.{}.{}", l.name, l.type), l);
  }
}

}  // namespace

std::vector<metric> metrics(const run_result& r) {
  collector out;
  out.time("total_time", r.total_time);
  out.count("threads", r.threads);
  for (const auto& f : fields<run_result>::counts)
    if (f.name.ends_with("_bytes"))
      out.size(std::string(f.name), r.*f.at);
    else
      out.count(std::string(f.name), r.*f.at);
  for (const auto& t : r.times) out.time("time." + t.key, t.time);
  const auto names = count_names(r);
  for (const auto& p : r.phases) out.time("phase." + p.name, p.time);
  for (const auto& name : names) {
    std::uint64_t sum = 0;
    for (const auto& p : r.phases) sum += count_of(p, name);
    out.count("count." + name, sum);
  }
  for (const auto& p : r.phases)
    for (const auto& name : names)
      out.count(fmt::format("count.{}.{}", p.name, name), count_of(p, name));
  for (const auto& b : r.breakdown) out.time("breakdown." + b.name, b.time);
  for (const auto& p : r.phases)
    for (const auto& b : p.breakdown)
      out.time(fmt::format("breakdown.{}.{}", p.name, b.name), b.time);
  add_locks(out, r);
  for (const auto& e : r.exits) out.row("exit." + e.reason, e);
  out.row("fault_latency", r.fault_latency);
  return out.take();
}

const metric* find_metric(const std::vector<metric>& all, std::string_view path) {
  const auto it =
      std::find_if(all.begin(), all.end(), [&](const auto& m) { return m.path == path; });
  return it == all.end() ? nullptr : &*it;
}

std::string value_text(const metric& m) {
  if (m.unit == metric_unit::picoseconds) return seconds_text(engine::duration{m.value}, 12);
  return fmt::format("{}", m.value);
}

std::string_view unit_text(metric_unit unit) {
  switch (unit) {
    case metric_unit::count:
      return "1";
    case metric_unit::bytes:
      return "B";
    case metric_unit::picoseconds:
      return "s";
  }
  return "";
}

}  // namespace hvsim::report
