// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/rules.hpp"

#include <fmt/format.h>

#include <bit>
#include <optional>
#include <stdexcept>
#include <string>

#include "guest_workloads/session_host.hpp"
#include "guest_workloads/workload.hpp"
#include "sim/host/mm.hpp"
#include "sim/machine/topology.hpp"

namespace hvsim::experiment {

namespace {

using scenario::rule;
using verdict = std::optional<std::string>;

constexpr std::uint64_t page = 4096;

std::uint64_t unsigned_value(const scenario::scenario& s, const char* key) {
  return static_cast<std::uint64_t>(s.values.integer(key));
}

bool is(const scenario::scenario& s, const char* key, const char* word) {
  return s.values.text(key) == word;
}

verdict whole_pages(const scenario::scenario& s) {
  if (!s.values.has("workload.bytes_per_vcpu")) return {};
  if (unsigned_value(s, "workload.bytes_per_vcpu") % page == 0) return {};
  return "the memory of a vCPU must be a multiple of 4KiB";
}

verdict memory_fits(const scenario::scenario& s) {
  if (!s.values.has("workload.bytes_per_vcpu")) return {};
  const std::uint64_t each = unsigned_value(s, "workload.bytes_per_vcpu");
  const std::uint64_t vcpus = unsigned_value(s, "vm.vcpus");
  // The program, stacks and stage-1 tables take a 256th of the memory and some pages besides.
  const std::uint64_t slot0 = each / 256 + (std::uint64_t{1} << 23);
  const std::uint64_t space = std::uint64_t{1} << unsigned_value(s, "vm.ipa_bits");
  if (each + slot0 <= space / vcpus) return {};
  return fmt::format("{} vCPUs with {} GiB each do not fit into {} bits of guest physical space",
                     vcpus, each >> 30, s.values.integer("vm.ipa_bits"));
}

verdict whole_slots(const scenario::scenario& s) {
  if (!s.values.has("workload.memslots") || !s.values.has("workload.bytes_per_vcpu") ||
      !s.values.has("workload.backing"))
    return {};
  // Then whole_pages has complained.
  if (unsigned_value(s, "workload.bytes_per_vcpu") % page != 0) return {};
  const std::uint64_t total =
      unsigned_value(s, "workload.bytes_per_vcpu") * unsigned_value(s, "vm.vcpus");
  const std::uint64_t slots = unsigned_value(s, "workload.memslots");
  if (total % (slots * page) == 0) return {};
  return fmt::format("{} pages cannot be cut into {} equal memslots", total / page, slots);
}

verdict one_write_share(const scenario::scenario& s) {
  if (!s.values.has("workload.write_fraction") || !s.values.has("workload.write_percent"))
    return {};
  if (s.values.integer("workload.write_fraction") == 1 ||
      s.values.integer("workload.write_percent") == 100)
    return {};
  return "the selftest has -w (write_percent) since 6.2 and -f (write_fraction) before; give one";
}

verdict nothing_after_populate(const scenario::scenario& s) {
  if (!s.values.has("workload.stop_after_populate") ||
      !s.values.boolean("workload.stop_after_populate"))
    return {};
  for (const char* key : {"workload.post_passes", "workload.run_while_disabling"})
    if (s.texts.at(key) != "0" && s.texts.at(key) != "false")
      return fmt::format("the run ends after the populate pass: {} has no effect", key);
  return {};
}

verdict not_nested(const scenario::scenario& s) {
  if (!s.values.has("workload.nested") || !s.values.boolean("workload.nested")) return {};
  return "the selftest has nested guests on x86 only, not on arm64";
}

/// `key`: which side of mmu_lock a kind of fault takes.
verdict takes_a_side(const scenario::scenario& s, const char* key) {
  if (!is(s, key, "read")) return {};
  if (is(s, "hypervisor.mmu_lock", "spinlock"))
    return "a spinlock has no read side: use hypervisor.mmu_lock rwlock";
  if (is(s, "hypervisor.walker", "exclusive"))
    return "the exclusive walker needs the write side: use hypervisor.walker rfc or merged";
  return {};
}

verdict collapse_fits(const scenario::scenario& s) {
  const bool exclusive = is(s, "hypervisor.walker", "exclusive");
  const bool pre_post = is(s, "hypervisor.collapse", "pre_post");
  if (is(s, "hypervisor.walker", "merged") && is(s, "hypervisor.collapse", "lock_descendants"))
    return "lock_descendants needs the walker rfc, which waits for locked entries below: use "
           "detach";
  if (exclusive == pre_post) return {};
  return exclusive ? "the exclusive walker collapses with pre_post only"
                   : "pre_post belongs to the exclusive walker: use detach (or, with the walker "
                     "rfc, lock_descendants)";
}

verdict split_chunk(const scenario::scenario& s) {
  const std::uint64_t chunk = unsigned_value(s, "hypervisor.eager_split_chunk");
  if (chunk == 0 || chunk == std::uint64_t{1} << 21 || chunk == std::uint64_t{1} << 30) return {};
  return "the chunk must be a block size: 0 (off), 2MiB or 1GiB";
}

verdict flushes_reach_nobody(const scenario::scenario& s) {
  if (!is(s, "hypervisor.tlbi_scope", "local")) return {};
  return "no correct kernel: a flush by the main thread reaches no vCPU, so the dirty log misses "
         "pages; hypervisor.relax_tlbi: local is the correct step";
}

constexpr const char* too_early = "a planted bug: tables are freed while walkers may read them";

verdict frees_too_early(const scenario::scenario& s) {
  if (!s.values.boolean("hypervisor.free_without_rcu")) return {};
  return too_early;
}

verdict frees_at_once(const scenario::scenario& s) {
  if (!is(s, "hypervisor.table_free", "immediate") || !is(s, "hypervisor.fault_side", "read"))
    return {};
  return too_early;
}

/// The others simulate the host's kernel.
bool has_guest_kernel(const scenario::scenario& s) {
  for (const auto& w : workloads::register_builtin_workloads())
    if (w.info.name == s.workload) return static_cast<bool>(w.run_guest);
  return false;
}

verdict cores_listed(const scenario::scenario& s) {
  const auto& list = s.values.list("vm.cores");
  if (!is(s, "vm.placement", "list")) return {};
  machine::topology::shape shape;
  const auto vcpus = static_cast<std::uint32_t>(unsigned_value(s, "vm.vcpus"));
  const bool shared = workloads::session_host::needed(s.values, vcpus + 1) && !has_guest_kernel(s);
  const std::uint64_t wanted = shared ? unsigned_value(s, "host.cpus") : vcpus;
  shape.cores = static_cast<std::uint32_t>(unsigned_value(s, "machine.topology.cores"));
  try {
    (void)machine::place(machine::topology(shape), machine::placement::list,
                         static_cast<std::uint32_t>(wanted), list);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return {};
}

verdict host_cpus_exist(const scenario::scenario& s) {
  std::uint64_t cpus = unsigned_value(s, "host.cpus");
  if (cpus == 0 && has_guest_kernel(s))
    cpus = unsigned_value(s, "vm.vcpus") * unsigned_value(s, "host.vms");
  const std::uint64_t cores = unsigned_value(s, "machine.topology.cores");
  if (cpus <= cores) return {};
  return fmt::format("{} CPUs on a machine with {} cores", cpus, cores);
}

verdict one_vm(const scenario::scenario& s) {
  if (has_guest_kernel(s) || unsigned_value(s, "host.vms") == 1) return {};
  return "only workloads with a guest kernel run several VMs";
}

verdict background_shares(const scenario::scenario& s) {
  if (has_guest_kernel(s) || unsigned_value(s, "host.background") == 0 ||
      unsigned_value(s, "host.cpus") != 0)
    return {};
  return "background tasks need host.cpus, which they share with the vCPUs";
}

verdict cools_down(const scenario::scenario& s) {
  if (unsigned_value(s, "host.cold_permille") == 0) return {};
  if (!has_guest_kernel(s)) return "only workloads with a guest kernel have CPUs that cool down";
  if (s.values.time("host.warm_up") == engine::duration{})
    return "a CPU is never cold while host.warm_up is 0";
  return {};
}

verdict sockets_divide(const scenario::scenario& s) {
  const std::uint64_t sockets = unsigned_value(s, "machine.topology.sockets");
  const std::uint64_t cores = unsigned_value(s, "machine.topology.cores");
  if (cores % sockets == 0) return {};
  return fmt::format("{} sockets do not divide {} cores evenly", sockets, cores);
}

verdict tlb_sets(const scenario::scenario& s) {
  const std::uint64_t entries = unsigned_value(s, "machine.features.tlb_l2_entries");
  const std::uint64_t ways = unsigned_value(s, "machine.features.tlb_l2_ways");
  if (entries % ways == 0 && std::has_single_bit(entries / ways)) return {};
  return fmt::format("{} entries in {} ways: their quotient must be a power of two", entries, ways);
}

}  // namespace

std::vector<rule> builtin_rules() {
  return {
      {"workload.bytes_per_vcpu", whole_pages},
      {"workload.bytes_per_vcpu", memory_fits},
      {"workload.memslots", whole_slots},
      {"workload.write_percent", one_write_share},
      {"workload.stop_after_populate", nothing_after_populate},
      {"workload.nested", not_nested},
      {"hypervisor.fault_side",
       [](const scenario::scenario& s) { return takes_a_side(s, "hypervisor.fault_side"); }},
      {"hypervisor.access_fault_side",
       [](const scenario::scenario& s) { return takes_a_side(s, "hypervisor.access_fault_side"); }},
      {"hypervisor.collapse", collapse_fits},
      {"hypervisor.eager_split_chunk", split_chunk},
      {"vm.cores", cores_listed},
      {"host.cpus", host_cpus_exist},
      {"host.vms", one_vm},
      {"host.background", background_shares},
      {"host.cold_permille", cools_down},
      {"machine.topology.sockets", sockets_divide},
      {"machine.features.tlb_l2_ways", tlb_sets},
  };
}

std::vector<rule> builtin_warnings() {
  return {
      {"hypervisor.tlbi_scope", flushes_reach_nobody},
      {"hypervisor.free_without_rcu", frees_too_early},
      {"hypervisor.table_free", frees_at_once},
  };
}

}  // namespace hvsim::experiment
