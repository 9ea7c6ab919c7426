// SPDX-License-Identifier: Apache-2.0
#include "sim/hypervisor/counters.hpp"

#include <fmt/format.h>

#include <string_view>

namespace hvsim::hypervisor {

namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(event::count)> event_names{
    "gup",         "mark_dirty",        "zalloc_tbl",    "put_page",        "put_pte",
    "break_pte",   "tlbi_vmid",         "tlbi_range",    "wp_masked",       "split_huge",
    "unmap_gfn",   "SET_MEMORY_REGION", "GET_DIRTY_LOG", "CLEAR_DIRTY_LOG", "abort_ret=0",
    "abort_ret=1", "s2_relax"};
constexpr std::array<std::string_view, static_cast<std::size_t>(sized_event::count)> sized_names{
    "s2_map 0x{:x}",          "cmo_dcache size=0x{:x}",
    "cmo_icache size=0x{:x}", "s2_wrprotect size=0x{:x}",
    "s2_unmap size=0x{:x}",   "s2_split size=0x{:x}"};
constexpr std::array<std::string_view, static_cast<std::size_t>(level_event::count)> level_names{
    "tlbi_ipa", "tlbi_ipa_nsh", "s2_create_unlinked", "s2_free_unlinked"};
constexpr std::array<std::string_view, static_cast<std::size_t>(result_event::count)> result_names{
    "s2_map_ret", "s2_relax_ret"};
constexpr std::array<int, 3> result_values{0, -11, -12};
constexpr std::array<std::string_view, 3> place_names{"test", "slot0", "none"};
constexpr std::array<std::string_view, 3> access_names{"DW", "DR", "Ix"};
constexpr std::array<std::string_view, 4> status_names{"trans", "access", "perm", "other"};
constexpr std::array<std::string_view, static_cast<std::size_t>(fault_action::count)> action_names{
    "", "s2_map 0x1000", "s2_map 0x1000 ro", "s2_map 0x200000", "s2_map 0x200000 ro", "s2_relax"};
// The kernel's "level unknown", INT_MAX, as the recorded counts print it.
constexpr std::string_view unknown_level = "2147483647";

}  // namespace

std::vector<std::pair<std::string, std::uint64_t>> counters::named() const {
  std::vector<std::pair<std::string, std::uint64_t>> out;
  const auto put = [&out](std::string name, std::uint64_t n) {
    if (n != 0) out.emplace_back(std::move(name), n);
  };
  std::vector<std::pair<std::string, std::uint64_t>> actions;
  for (std::size_t i = 0; i < fault_classes; ++i) {
    if (faults_[i] == 0) continue;
    const std::size_t level = i % 4;
    const std::size_t status = i / 4 % 4;
    const bool s1ptw = i / 16 % 2 != 0;
    const std::size_t access = i / 32 % 3;
    const std::size_t place = i / 96;
    const std::string kind = fmt::format("{} {}{} {} L{}", place_names[place], access_names[access],
                                         s1ptw ? "+S1PTW" : "", status_names[status], level);
    put("fault " + kind, faults_[i]);
    for (std::size_t a = 1; a < action_names.size(); ++a)
      if (actions_[i][a] != 0)
        actions.emplace_back(fmt::format("action [{}] {}", kind, action_names[a]), actions_[i][a]);
  }
  out.insert(out.end(), actions.begin(), actions.end());
  for (std::size_t i = 0; i < event_names.size(); ++i)
    put(fmt::format("event {}", event_names[i]), events_[i]);
  for (std::size_t i = 0; i < sized_names.size(); ++i) {
    const auto name = [i](std::uint64_t size) {
      return "event " + fmt::format(fmt::runtime(sized_names[i]), size);
    };
    put(name(0x1000), sized_[i].page);
    put(name(0x200000), sized_[i].block);
    put(name(0), sized_[i].none);
    for (const auto& [size, n] : sized_[i].other) put(name(size), n);
  }
  for (std::size_t i = 0; i < level_names.size(); ++i)
    for (std::size_t l = 0; l < 5; ++l)
      put(fmt::format("event {} L{}", level_names[i],
                      l == 4 ? std::string(unknown_level) : fmt::format("{}", l)),
          levels_[i][l]);
  for (std::size_t i = 0; i < result_names.size(); ++i)
    for (std::size_t r = 0; r < result_values.size(); ++r)
      put(fmt::format("event {}={}", result_names[i], result_values[r]), results_[i][r]);
  return out;
}

counters counters::since(const counters& earlier) const {
  counters d = *this;
  for (std::size_t i = 0; i < events_.size(); ++i) d.events_[i] -= earlier.events_[i];
  for (std::size_t i = 0; i < sized_.size(); ++i) {
    d.sized_[i].page -= earlier.sized_[i].page;
    d.sized_[i].block -= earlier.sized_[i].block;
    d.sized_[i].none -= earlier.sized_[i].none;
    for (const auto& [size, n] : earlier.sized_[i].other) d.sized_[i].other[size] -= n;
  }
  for (std::size_t i = 0; i < levels_.size(); ++i)
    for (std::size_t l = 0; l < 5; ++l) d.levels_[i][l] -= earlier.levels_[i][l];
  for (std::size_t i = 0; i < results_.size(); ++i)
    for (std::size_t r = 0; r < 3; ++r) d.results_[i][r] -= earlier.results_[i][r];
  for (std::size_t i = 0; i < fault_classes; ++i) {
    d.faults_[i] -= earlier.faults_[i];
    for (std::size_t a = 0; a < actions_[i].size(); ++a) d.actions_[i][a] -= earlier.actions_[i][a];
  }
  return d;
}

}  // namespace hvsim::hypervisor
