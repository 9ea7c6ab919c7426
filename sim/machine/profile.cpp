// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/profile.hpp"

#include <array>

namespace hvsim::machine {

namespace {

struct cost_row {
  const char* key;
  cost cost_table::*field;
  const char* help;
};

constexpr std::array cost_rows{
    cost_row{"guest_access", &cost_table::guest_access,
             "one load or store that hits TLB and cache, with its loop"},
    cost_row{"walk_descriptor", &cost_table::walk_descriptor,
             "hardware table walker: one descriptor read"},
    cost_row{"trap", &cost_table::trap, "exit to the host and entry back, nothing handled"},
    cost_row{"userspace_exit", &cost_table::userspace_exit,
             "return from KVM_RUN to the VMM and back"},
    cost_row{"irqchip_user", &cost_table::irqchip_user,
             "per exit without in-kernel vGIC: shared timer interrupt state"},
    cost_row{"fault_software", &cost_table::fault_software,
             "abort handling before mmu_lock: decode, memslot, VMA, GUP"},
    cost_row{"fault_locked", &cost_table::fault_locked,
             "abort handling under mmu_lock outside the table walk"},
    cost_row{"table_visit", &cost_table::table_visit, "software walker: one descriptor visited"},
    cost_row{"table_update", &cost_table::table_update,
             "one descriptor store or compare-and-swap in an owned line"},
    cost_row{"table_alloc", &cost_table::table_alloc, "one page from the memcache"},
    cost_row{"line_local", &cost_table::line_local, "atomic on a line that the core owns"},
    cost_row{"line_transfer", &cost_table::line_transfer,
             "moving a contended line between cores of one cluster"},
    cost_row{"line_hop", &cost_table::line_hop, "added per mesh step of a line transfer"},
    cost_row{"clean_line", &cost_table::clean_line, "DC CIVAC of one 64-byte line in a loop"},
    cost_row{"clean_barrier", &cost_table::clean_barrier,
             "DSB SY that waits for the cleaned lines"},
    cost_row{"instruction_barrier", &cost_table::instruction_barrier,
             "ISB after an executable mapping"},
    cost_row{"tlbi_broadcast", &cost_table::tlbi_broadcast,
             "broadcast TLBI and DSB ISH: fixed part"},
    cost_row{"tlbi_answer", &cost_table::tlbi_answer,
             "broadcast TLBI: added per core that must answer, serialised between issuers"},
    cost_row{"tlbi_local", &cost_table::tlbi_local, "local TLBI and DSB NSH"},
    cost_row{"vmid_switch", &cost_table::vmid_switch,
             "loading the guest's VTTBR and HCR for a TLBI and going back"},
    cost_row{"at_translate", &cost_table::at_translate, "AT S1E1R and reading PAR_EL1"},
    cost_row{"vma_lookup", &cost_table::vma_lookup, "finding the VMA under mmap_lock"},
    cost_row{"host_fault", &cost_table::host_fault, "host page fault without clearing"},
    cost_row{"page_refill", &cost_table::page_refill, "one cleared page into the memcache"},
    cost_row{"dirty_set", &cost_table::dirty_set, "set_bit in an owned dirty bitmap line"},
    cost_row{"bitmap_word", &cost_table::bitmap_word,
             "GET or CLEAR of one 64-bit dirty bitmap word"},
    cost_row{"ioctl_base", &cost_table::ioctl_base, "one ioctl with nothing to do"},
    cost_row{"thread_create", &cost_table::thread_create,
             "pthread_create until the main thread goes on"},
    cost_row{"thread_start", &cost_table::thread_start,
             "from thread creation to the first guest instruction"},
    cost_row{"rcu_grace", &cost_table::rcu_grace, "length of an RCU grace period"},
};

struct rate_row {
  const char* key;
  std::int64_t cost_table::*field;
  const char* help;
};

constexpr std::array rate_rows{
    rate_row{"zero_bandwidth", &cost_table::zero_bandwidth, "one core clearing pages"},
    rate_row{"dram_bandwidth", &cost_table::dram_bandwidth,
             "all cores together clearing and cleaning pages"},
};

// Share in parts per thousand of 2 MiB that leave the caches while a core clears a block.
constexpr const char* clear_share_key = "machine.costs.clear_dram_permille";

struct count_row {
  const char* key;
  std::uint32_t topology::shape::*field;
  const char* default_value;
  double max;
  const char* help;
};

constexpr std::array count_rows{
    count_row{"sockets", &topology::shape::sockets, "1", 8, "sockets"},
    count_row{"cores", &topology::shape::cores, "64", 1000, "cores of all sockets together"},
    count_row{"cores_per_cluster", &topology::shape::cores_per_cluster, "2", 64,
              "cores that share a cluster port"},
    count_row{"clusters_per_crosspoint", &topology::shape::clusters_per_crosspoint, "2", 64,
              "clusters at one mesh crosspoint"},
    count_row{"mesh_columns", &topology::shape::mesh_columns, "4", 64,
              "crosspoints in a row of the mesh"},
};

struct flag_row {
  const char* key;
  bool feature_table::*field;
  const char* default_value;
  const char* help;
};

constexpr std::array flag_rows{
    flag_row{"fwb", &feature_table::fwb, "false",
             "FEAT_S2FWB: stage-2 mappings need no cache maintenance"},
    flag_row{"tlbi_range", &feature_table::tlbi_range, "false", "FEAT_TLBIRANGE"},
    flag_row{"ttl", &feature_table::ttl, "false", "FEAT_TTL: level hints in TLBI"},
    flag_row{"dic", &feature_table::dic, "true",
             "CTR_EL0.DIC: no instruction cache invalidation to the point of unification"},
    flag_row{"hw_access_flag", &feature_table::hw_access_flag, "true",
             "FEAT_HAFDBS: hardware sets the access flag"},
    flag_row{"s1ptw_stage1_level", &feature_table::s1ptw_stage1_level, "false",
             "aborts of stage-1 walks report the stage-1 level, as QEMU 7.2 does"},
};

struct tlb_row {
  const char* key;
  std::uint32_t feature_table::*field;
  const char* default_value;
  const char* help;
  double max;  // that mmu::tlb takes
};

constexpr std::array tlb_rows{
    tlb_row{"tlb_l1_entries", &feature_table::tlb_l1_entries, "48",
            "entries of the first-level TLB, fully associative", 254.0},
    tlb_row{"tlb_l2_entries", &feature_table::tlb_l2_entries, "1280",
            "entries of the second-level TLB", 65535.0},
    tlb_row{"tlb_l2_ways", &feature_table::tlb_l2_ways, "5", "ways of the second-level TLB", 255.0},
};

constexpr const char* cost_prefix = "machine.costs.";
constexpr const char* topology_prefix = "machine.topology.";
constexpr const char* feature_prefix = "machine.features.";
constexpr double one_second_ps = 1e12;

}  // namespace

std::vector<registry::parameter> cost_parameters() {
  std::vector<registry::parameter> table;
  for (const auto& row : cost_rows)
    table.push_back({std::string(cost_prefix) + row.key,
                     registry::value_type::time,
                     "",
                     row.help,
                     0.0,
                     one_second_ps,
                     {}});
  for (const auto& row : rate_rows)
    table.push_back({std::string(cost_prefix) + row.key,
                     registry::value_type::rate,
                     "",
                     row.help,
                     1e6,
                     1e15,
                     {}});
  table.push_back(
      {clear_share_key,
       registry::value_type::integer,
       "",
       "share of a cleared 2 MiB block that reaches DRAM while it is cleared, in 1/1000",
       0.0,
       1000.0,
       {}});
  return table;
}

std::vector<registry::parameter> topology_parameters() {
  std::vector<registry::parameter> table;
  for (const auto& row : count_rows)
    table.push_back({std::string(topology_prefix) + row.key,
                     registry::value_type::integer,
                     row.default_value,
                     row.help,
                     1.0,
                     row.max,
                     {}});
  for (const auto& row : flag_rows)
    table.push_back({std::string(feature_prefix) + row.key,
                     registry::value_type::boolean,
                     row.default_value,
                     row.help,
                     {},
                     {},
                     {}});
  for (const auto& row : tlb_rows)
    table.push_back({std::string(feature_prefix) + row.key,
                     registry::value_type::integer,
                     row.default_value,
                     row.help,
                     1.0,
                     row.max,
                     {}});
  return table;
}

profile make_profile(std::string name, const registry::value_map& values,
                     const std::vector<std::pair<std::string, std::uint32_t>>& spread) {
  profile p;
  p.name = std::move(name);
  for (const auto& row : cost_rows) {
    const std::string key = std::string(cost_prefix) + row.key;
    cost c{values.time(key), 0, 0};
    for (const auto& [cost_key, permille] : spread)
      if (cost_key == key) c.spread_permille = permille;
    c.amplitude_ps = c.mean.ps() * c.spread_permille / 1000;
    p.costs.*row.field = c;
  }
  for (const auto& row : rate_rows)
    p.costs.*row.field = values.integer(std::string(cost_prefix) + row.key);
  p.costs.clear_dram_permille = values.integer(clear_share_key);
  for (const auto& [cost_key, permille] : spread)
    if (cost_key == std::string(cost_prefix) + "zero_bandwidth")
      p.costs.zero_spread_permille = permille;
  for (const auto& row : count_rows)
    p.shape.*row.field =
        static_cast<std::uint32_t>(values.integer(std::string(topology_prefix) + row.key));
  for (const auto& row : flag_rows)
    p.features.*row.field = values.boolean(std::string(feature_prefix) + row.key);
  for (const auto& row : tlb_rows)
    p.features.*row.field =
        static_cast<std::uint32_t>(values.integer(std::string(feature_prefix) + row.key));
  return p;
}

}  // namespace hvsim::machine
