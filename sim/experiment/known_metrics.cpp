// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/known_metrics.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "sim/engine/parts.hpp"
#include "sim/hypervisor/counters.hpp"
#include "sim/report/fields.hpp"

namespace hvsim::experiment {
namespace {

using report::metric_unit;

template <class Enum, class F>
void each_of(F f) {
  for (int i = 0; i < static_cast<int>(Enum::count); ++i) f(static_cast<Enum>(i));
}

void count_every_fault(hypervisor::counters& all) {
  using namespace hypervisor;
  for (auto place : {fault_place::test, fault_place::slot0, fault_place::none})
    for (auto access :
         {fault_access::data_write, fault_access::data_read, fault_access::instruction})
      for (bool s1ptw : {false, true})
        for (auto status : {fault_status::translation, fault_status::access_flag,
                            fault_status::permission, fault_status::other})
          for (std::uint8_t level = 0; level < 4; ++level)
            each_of<fault_action>([&](fault_action a) {
              all.add_fault(counters::row_of({place, access, s1ptw, status, level}), a);
            });
}

/// The names of everything that is counted, found by counting it once.
std::set<std::string, std::less<>> every_kind() {
  using namespace hypervisor;
  constexpr std::array<std::uint64_t, 3> sizes{0x1000, 0x200000, 0x40000000};
  counters all;
  count_every_fault(all);
  each_of<event>([&](event e) { all.add(e); });
  each_of<sized_event>([&](sized_event e) {
    for (std::uint64_t size : sizes) all.add(e, engine::bytes{size});
  });
  each_of<level_event>([&](level_event e) {
    all.add(e, std::nullopt);
    for (auto l : {mmu::level::l0, mmu::level::l1, mmu::level::l2, mmu::level::l3}) all.add(e, l);
  });
  each_of<result_event>([&](result_event e) {
    for (unsigned outcome : {0U, 1U, 2U}) all.add(e, outcome);
  });
  std::set<std::string, std::less<>> names;
  for (auto& [name, n] : all.named()) names.insert(std::move(name));
  return names;
}

bool is_part(std::string_view word) {
  bool found = false;
  each_of<engine::part>([&](engine::part p) { found = found || engine::to_string(p) == word; });
  return found;
}

template <std::size_t N>
bool one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Cuts `family` and a dot off the front of `rest`.
bool cut(std::string_view& rest, std::string_view family) {
  if (!rest.starts_with(family) || rest.size() <= family.size() || rest[family.size()] != '.')
    return false;
  rest.remove_prefix(family.size() + 1);
  return true;
}

/// `rest` without the name of a phase of the run and its dot, if it starts with one.
std::string_view behind_phase(const std::vector<report::metric>& all, std::string_view rest) {
  for (const report::metric& m : all) {
    std::string_view phase = m.path;
    std::string_view inner = rest;
    if (cut(phase, "phase") && cut(inner, phase)) return inner;
  }
  return rest;
}

template <class Row>
std::optional<metric_unit> unit_of_field(std::string_view name) {
  for (const auto& f : report::fields<Row>::counts)
    if (f.name == name) return metric_unit::count;
  for (const auto& f : report::fields<Row>::times)
    if (f.name == name) return metric_unit::picoseconds;
  return std::nullopt;
}

std::optional<metric_unit> unit_of_lock(std::string_view rest) {
  constexpr std::array<std::string_view, 5> names{"mmu_lock", "mmap_lock", "srcu", "rcu",
                                                  "call_rcu"};
  constexpr std::array<std::string_view, 7> types{"spinlock", "rwlock:R", "rwlock:W", "rwsem:R",
                                                  "rwsem:W",  "srcu",     "rcu"};
  const auto first = rest.find('.');
  const auto last = rest.rfind('.');
  if (first == std::string_view::npos || !one_of(rest.substr(0, first), names)) return std::nullopt;
  if (first != last && !one_of(rest.substr(first + 1, last - first - 1), types))
    return std::nullopt;
  const std::string_view field = rest.substr(last + 1);
  if (field == "avg_wait") return metric_unit::picoseconds;
  return unit_of_field<report::lock_result>(field);
}

std::optional<metric_unit> unit_of_exit(std::string_view rest) {
  constexpr std::array<std::string_view, 2> reasons{"DABT_LOW", "IABT_LOW"};
  const auto dot = rest.find('.');
  if (dot == std::string_view::npos || !one_of(rest.substr(0, dot), reasons)) return std::nullopt;
  return unit_of_field<report::exit_result>(rest.substr(dot + 1));
}

std::optional<metric_unit> unit_of(const std::vector<report::metric>& all, std::string_view path) {
  if (cut(path, "lock")) return unit_of_lock(path);
  if (cut(path, "exit")) return unit_of_exit(path);
  if (cut(path, "breakdown"))
    return is_part(behind_phase(all, path)) ? std::optional(metric_unit::picoseconds)
                                            : std::nullopt;
  if (cut(path, "count"))
    return every_kind().contains(behind_phase(all, path)) ? std::optional(metric_unit::count)
                                                          : std::nullopt;
  return std::nullopt;
}

}  // namespace

std::optional<report::metric> zero_metric(const std::vector<report::metric>& all,
                                          std::string_view path) {
  if (report::find_metric(all, path) != nullptr) return std::nullopt;
  const auto unit = unit_of(all, path);
  if (!unit) return std::nullopt;
  return report::metric{std::string(path), 0, *unit};
}

}  // namespace hvsim::experiment
