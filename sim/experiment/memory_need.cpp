// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/memory_need.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

#include <algorithm>

#include "guest_workloads/session.hpp"
#include "sim/host/mm.hpp"
#include "sim/machine/machine.hpp"
#include "sim/registry/node.hpp"

namespace hvsim::experiment {
namespace {

using engine::bytes;
using workloads::most_table_memory;

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t chunk = std::uint64_t{2} << 20;  // what one level 3 table maps
constexpr std::uint64_t pages_of_chunk = chunk / page;

// Bytes for each chunk of test memory.
constexpr std::uint64_t frame_entry = 4;                 // host::vma::frames, for each host page
constexpr std::uint64_t stage1_record = 16 + 4;          // selftest_guest: a table and its number
constexpr std::uint64_t slot0_frames = 2 * frame_entry;  // of the pages of stage-1 tables
constexpr std::uint64_t owner = 2;                       // access::privacy_map
// hypervisor::dirty_bitmap: a bit a page, the same for what GET gave, a line for 512 pages.
constexpr std::uint64_t dirty_log = pages_of_chunk / 8 * 2 + sizeof(machine::line);
constexpr std::uint64_t level3_table = page;

bool is(const registry::value_map& v, const char* key) {
  return v.has(key) && v.boolean(key);
}

bool enables_log(const registry::node* phases) {
  if (phases == nullptr) return false;
  for (const registry::node& phase : phases->items)
    for (const auto& [key, value] : phase.members)
      if (key.scalar == "log" && value.scalar == "enable") return true;
  return false;
}

/// What a workload does with its test memory.
struct usage {
  std::uint64_t memory = 0;
  bool logs = false;
  bool maps_all = false;        // accesses every page
  bool maps_all_small = false;  // and every page has a level 3 entry at some time
};

std::optional<usage> usage_of(const scenario::scenario& s) {
  const registry::value_map& v = s.values;
  const auto vcpus = static_cast<std::uint64_t>(v.integer("vm.vcpus"));
  usage out;
  if (s.workload == "dirty_log_perf_test") {
    out.memory = v.size("workload.bytes_per_vcpu").value() * vcpus;
    out.logs = !is(v, "workload.stop_after_populate");
    out.maps_all = true;  // populate does
    const bool writes_all = !is(v, "workload.random_access") &&
                            v.integer("workload.write_percent") == 100 &&
                            v.integer("workload.write_fraction") == 1;
    const bool small =
        host::page_size_of(host::backing_from(v.text("workload.backing"))) == bytes{page};
    // Writes under a dirty log split blocks.
    out.maps_all_small = small || (out.logs && writes_all);
  } else if (s.workload == "synthetic") {
    out.memory =
        v.size("workload.memory").value() * (v.text("workload.sharing") == "shared" ? 1 : vcpus);
    out.logs = enables_log(s.structure("workload.phases"));
  } else if (s.workload == "trace") {
    out.memory = v.size("workload.memory").value();
    out.logs = v.boolean("workload.log");
  } else {
    return std::nullopt;
  }
  return out;
}

std::string shown(bytes b) {
  constexpr double gib = 1 << 30;
  const double n = static_cast<double>(b.value()) / gib;
  return n < 1024 ? fmt::format("{:.1f} GiB", n) : fmt::format("{:.1f} TiB", n / 1024);
}

using verdict = std::optional<std::string>;

verdict fits(const scenario::scenario& s, bytes available) {
  const auto need = least_memory(s);
  if (!need) return {};
  if (need->tables > most_table_memory)
    return fmt::format(
        "a run would hold {} of translation tables for {} of test memory; at most "
        "{} are possible: use less memory",
        shown(need->tables), shown(need->test_memory), shown(most_table_memory));
  const bytes most = std::max(need->total(), need->reserved);
  if (most <= available) return {};
  const bool small = need->reserved > need->total();
  return fmt::format(
      "a run would need {} of this computer for {} of test memory, and there are {}: "
      "use less memory{}",
      shown(most), shown(need->test_memory), shown(available),
      small ? ", or host pages of 2 MiB (workload.backing)" : "");
}

}  // namespace

std::optional<memory_need> least_memory(const scenario::scenario& s) {
  const auto use = usage_of(s);
  if (!use) return std::nullopt;
  const bytes host_page = host::page_size_of(host::backing_from(s.values.text("workload.backing")));
  const std::uint64_t chunks = use->memory / chunk;
  const bytes frames{use->memory / host_page.value() * frame_entry};
  memory_need out;
  out.test_memory = bytes{use->memory};
  out.tables = bytes{use->maps_all_small ? chunks * level3_table : 0};
  out.others = bytes{chunks * (stage1_record + slot0_frames + owner + (use->logs ? dirty_log : 0))};
  if (use->maps_all) out.others = out.others + frames;
  out.reserved = frames;
  return out;
}

bytes memory_of_computer() {
  struct sysinfo s {};
  if (::sysinfo(&s) != 0) return bytes{~std::uint64_t{0}};
  return bytes{(std::uint64_t{s.totalram} + s.totalswap) * s.mem_unit};
}

std::string memory_refused() {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return "out of memory";
  return fmt::format(
      "out of address space, of which ulimit -v allows {}: each run at a time reserves some {} for "
      "stage-2 tables, however little of it is used",
      shown(bytes{limit.rlim_cur}), shown(most_table_memory));
}

std::vector<scenario::rule> memory_rules(bytes available) {
  std::vector<scenario::rule> out;
  for (const char* key : {"workload.bytes_per_vcpu", "workload.memory"})
    out.push_back({key, [key, available](const scenario::scenario& s) -> verdict {
                     return s.values.has(key) ? fits(s, available) : std::nullopt;
                   }});
  return out;
}

}  // namespace hvsim::experiment
