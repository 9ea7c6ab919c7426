// SPDX-License-Identifier: Apache-2.0
#include "guest_workloads/reaim_mix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace hvsim::workloads {

namespace {
constexpr double ticks_per_second = 100;

double mean(const std::vector<std::int64_t>& v) {
  double sum = 0;
  for (const std::int64_t x : v) sum += static_cast<double>(x);
  return sum / static_cast<double>(v.size());
}
}  // namespace

const std::vector<reaim_weight>& reaim_compute() {
  using t = reaim_test;
  static const std::vector<reaim_weight> mix{
      {t::add_double, 50},    {t::add_int, 30},    {t::add_long, 30},    {t::array_rtns, 10},
      {t::disk_cp, 10},       {t::disk_rd, 30},    {t::disk_src, 10},    {t::disk_wrt, 20},
      {t::div_double, 40},    {t::div_int, 30},    {t::matrix_rtns, 50}, {t::mem_rtns_1, 40},
      {t::mem_rtns_2, 40},    {t::mul_double, 50}, {t::mul_int, 30},     {t::mul_long, 30},
      {t::new_raph, 40},      {t::num_rtns_1, 40}, {t::page_test, 50},   {t::series_1, 40},
      {t::shared_memory, 10}, {t::sieve, 30},      {t::stream_pipe, 20}, {t::string_rtns, 30},
      {t::trig_rtns, 40},     {t::udp_test, 20}};
  return mix;
}

std::vector<reaim_test> reaim_calls(const std::vector<reaim_weight>& mix, std::uint32_t jobs) {
  std::uint32_t sum = 0;
  for (const reaim_weight& w : mix) sum += w.weight;
  std::vector<reaim_test> calls;
  for (const reaim_weight& w : mix) {
    const std::uint32_t n = (2 * jobs * w.weight + sum) / (2 * sum);
    calls.insert(calls.end(), std::max(n, 1U), w.test);
  }
  return calls;
}

void shuffle(std::vector<reaim_test>& calls, engine::random_stream& random) {
  for (std::size_t i = calls.size(); i > 1; --i) std::swap(calls[i - 1], calls[random.below(i)]);
}

bool reaim_steps::next(std::int64_t ticks) {
  constexpr std::uint32_t steady_loads = 9;
  if (++loads_ > steady_loads && ticks_before_ != 0) {
    // Not on an event path, and as reaim computes it.
    const double growth = static_cast<double>(ticks) / static_cast<double>(ticks_before_);
    if (growth < 1.20) {
      increment_ = static_cast<std::uint32_t>(increment_ * (1 + growth));
    } else if (growth > 1.30) {
      const auto less = static_cast<std::uint32_t>(increment_ / (1 + growth));
      if (less >= 1) increment_ = less;
    }
  }
  ticks_before_ = ticks;
  processes_ += increment_;
  return processes_ <= last_;
}

double reaim_row::jobs_per_minute() const {
  if (parent_ticks == 0) return 0;
  return static_cast<double>(jobs) * processes * 60 * ticks_per_second /
         static_cast<double>(parent_ticks);
}

double reaim_row::standard_deviation() const {
  const double m = mean(child_ticks);
  double squares = 0;
  for (const std::int64_t x : child_ticks)
    squares += (static_cast<double>(x) - m) * (static_cast<double>(x) - m);
  return std::sqrt(squares / static_cast<double>(child_ticks.size())) / ticks_per_second;
}

double reaim_row::deviation_percent() const {
  return 100 * standard_deviation() * ticks_per_second / mean(child_ticks);
}

int reaim_row::job_timing_index() const {
  if (processes == 1) return 100;
  return static_cast<int>((1 - deviation_percent() / 100) * 100);
}

std::vector<std::string> reaim_header() {
  return {"Num     Parent   Child   Child  Jobs per   Jobs/min/  Std_dev  Std_dev  JTI",
          "Forked  Time     SysTime UTime   Minute     Child      Time     Percent"};
}

std::string to_text(const reaim_row& r) {
  const auto seconds = [](std::int64_t ticks) {
    return static_cast<double>(ticks) / ticks_per_second;
  };
  return fmt::format("{:<7} {:<8.2f} {:<7.2f} {:<7.2f} {:<10.2f} {:<10.2f} {:<8.2f} {:<8.2f} {}",
                     r.processes, seconds(r.parent_ticks), seconds(r.system_ticks),
                     seconds(r.user_ticks), r.jobs_per_minute(), r.jobs_per_minute() / r.processes,
                     r.standard_deviation(), r.deviation_percent(), r.job_timing_index());
}

}  // namespace hvsim::workloads
