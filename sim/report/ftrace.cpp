// SPDX-License-Identifier: Apache-2.0
#include "sim/report/ftrace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace hvsim::report {

namespace {

constexpr std::int64_t ps_per_us = 1'000'000;
constexpr std::int64_t us_per_s = 1'000'000;
constexpr std::uint32_t first_pid = 1000;
// Room for two counts of 20 digits, filled up with blanks: the counts are known at the end.
constexpr std::size_t entries_width = 90;

}  // namespace

std::string to_ftrace_line(const guest_fault& f) {
  const std::int64_t us = f.time.ps() / ps_per_us;
  return fmt::format(
      "{:>16}-{:<7} [{:03}]  {:>5}.{:06}: kvm_guest_fault: ipa {:#x}, hsr {:#08x}, hxfar {:#08x}, "
      "pc {:#016x}\n",
      fmt::format("vcpu{}", f.vcpu), first_pid + f.vcpu, f.core.value(), us / us_per_s,
      us % us_per_s, f.ipa.value(), f.hsr, f.hxfar.value(), f.pc.value());
}

ftrace_writer::ftrace_writer(std::filesystem::path path, std::uint32_t cores)
    : file_(std::move(path)), cores_(cores) {
  const std::string head = "# tracer: nop\n#\n";
  entries_at_ = head.size();
  file_.append(head + entries_line() +
               "#\n"
               "#           TASK-PID     CPU#     TIMESTAMP  FUNCTION\n"
               "#              | |         |         |         |\n");
}

std::string ftrace_writer::entries_line() const {
  return fmt::format(
      "{:<{}}\n",
      fmt::format("# entries-in-buffer/entries-written: {}/{}   #P:{}", written_, written_, cores_),
      entries_width);
}

void ftrace_writer::settle(engine::sim_time t) {
  std::stable_sort(held_.begin(), held_.end(), [](const guest_fault& a, const guest_fault& b) {
    return a.time != b.time ? a.time < b.time : a.vcpu < b.vcpu;
  });
  const auto end = std::partition_point(held_.begin(), held_.end(),
                                        [t](const guest_fault& f) { return f.time < t; });
  std::string text;
  for (auto f = held_.begin(); f != end; ++f) text += to_ftrace_line(*f);
  file_.append(text);
  written_ += static_cast<std::uint64_t>(end - held_.begin());
  held_.erase(held_.begin(), end);
}

void ftrace_writer::finish() {
  settle(engine::sim_time{std::numeric_limits<std::int64_t>::max()});
  file_.overwrite(entries_at_, entries_line());
  file_.commit();
}

}  // namespace hvsim::report
