// SPDX-License-Identifier: Apache-2.0
#include "sim/hypervisor/switches.hpp"

namespace hvsim::hypervisor {

namespace {

using registry::parameter;
using registry::value_type;

parameter choice(const char* key, const char* value, const char* help,
                 std::vector<std::string> choices) {
  return {std::string("hypervisor.") + key,
          value_type::choice,
          value,
          help,
          {},
          {},
          std::move(choices)};
}

parameter flag(const char* key, const char* value, const char* help) {
  return {std::string("hypervisor.") + key, value_type::boolean, value, help, {}, {}, {}};
}

using bundle = std::vector<std::pair<std::string, std::string>>;

bundle merge(bundle base, const bundle& changes) {
  for (const auto& [key, value] : changes) {
    bool found = false;
    for (auto& [k, v] : base)
      if (k == key) {
        v = value;
        found = true;
      }
    if (!found) base.emplace_back(key, value);
  }
  return base;
}

bundle linux_6_1() {
  return {
      {"hypervisor.mmu_lock", "rwlock"},
      {"hypervisor.fault_side", "write"},
      {"hypervisor.permission_fast_path", "true"},
      {"hypervisor.access_fault_side", "write"},
      {"hypervisor.mmap_lock", "true"},
      {"hypervisor.notifier_seq", "before_unlock"},
      {"hypervisor.s1ptw_write", "permission_faults"},
      {"hypervisor.mark_dirty", "inside_lock"},
      {"hypervisor.eager_split_call", "false"},
      {"hypervisor.eager_split_chunk", "0"},
      {"hypervisor.tlbi_scope", "broadcast"},
      {"hypervisor.flush_by_range", "false"},
      {"hypervisor.unmap_level_hint", "level"},
      {"hypervisor.walker", "exclusive"},
      {"hypervisor.collapse", "pre_post"},
      {"hypervisor.split_order", "alloc_first"},
      {"hypervisor.relax_tlbi", "broadcast"},
      {"hypervisor.table_free", "immediate"},
      {"hypervisor.relax_eagain_on_invalid", "false"},
      {"hypervisor.relax_tlbi_on_eagain", "false"},
      {"hypervisor.free_without_rcu", "false"},
  };
}

bundle linux_5_18() {
  return merge(linux_6_1(),
               {{"hypervisor.notifier_seq", "after_unlock"}, {"hypervisor.s1ptw_write", "always"}});
}

bundle linux_6_2() {
  return merge(linux_6_1(), {{"hypervisor.fault_side", "read"},
                             {"hypervisor.walker", "merged"},
                             {"hypervisor.collapse", "detach"},
                             {"hypervisor.table_free", "rcu_per_subtree"}});
}

bool is(const registry::value_map& v, const char* key, const char* word) {
  return v.text(key) == word;
}

}  // namespace

std::vector<parameter> parameters() {
  std::vector<std::string> kernels;
  for (const auto& p : kernel_presets()) kernels.push_back(p.name);
  return {
      choice("kernel", "linux-6.1", "kernel preset: a bundle of the switches below", kernels),
      choice("mmu_lock", "rwlock", "type of kvm->mmu_lock (spinlock before Linux 5.18)",
             {"spinlock", "rwlock"}),
      choice("fault_side", "write", "side of mmu_lock that user_mem_abort takes (read since 6.2)",
             {"write", "read"}),
      flag("permission_fast_path", "true",
           "page-size write permission faults while logging take the read side (5.18 to 6.1)"),
      choice("access_fault_side", "write",
             "side of mmu_lock for access flag faults (read since 6.3)", {"write", "read"}),
      flag("mmap_lock", "true", "take mmap_lock for read around the VMA lookup"),
      choice("notifier_seq", "before_unlock",
             "when the MMU notifier sequence is read, relative to dropping mmap_lock",
             {"before_unlock", "after_unlock"}),
      choice("s1ptw_write", "permission_faults", "which aborts of stage-1 walks count as writes",
             {"permission_faults", "always"}),
      choice("mark_dirty", "inside_lock",
             "where the page is marked dirty, relative to dropping mmu_lock (6.12: after)",
             {"inside_lock", "after_unlock"}),
      flag("eager_split_call", "false",
           "write protection of a slot or word is followed by the eager-split function (6.5+)"),
      {"hypervisor.eager_split_chunk",
       value_type::size,
       "0",
       "eager split chunk: 0 (off), 2MiB or 1GiB",
       0.0,
       1073741824.0,
       {}},
      choice("tlbi_scope", "broadcast",
             "unsafe if local: every TLBI stays on its core, so the main thread's flushes reach no "
             "vCPU and the dirty log misses pages (relax_tlbi is the correct step)",
             {"broadcast", "local"}),
      flag("flush_by_range", "false",
           "flush a slot by range where the machine has FEAT_TLBIRANGE (6.6+)"),
      choice("unmap_level_hint", "level",
             "TLBI level that the unmap walker gives for table entries (6.12: unknown)",
             {"level", "unknown"}),
      choice("walker", "exclusive",
             "how entries are replaced: exclusive (up to 6.1), rfc (April 2022), merged (6.2+)",
             {"exclusive", "rfc", "merged"}),
      choice("collapse", "pre_post", "how a table becomes a block",
             {"pre_post", "lock_descendants", "detach"}),
      choice("split_order", "alloc_first", "child table allocated before or after the break",
             {"alloc_first", "break_first"}),
      choice("relax_tlbi", "broadcast",
             "scope of the TLBI after a relaxed permission (6.5+: local)", {"broadcast", "local"}),
      choice("table_free", "immediate", "when tables of a collapsed subtree are freed",
             {"immediate", "rcu_per_page", "rcu_per_subtree"}),
      flag("relax_eagain_on_invalid", "false",
           "relaxing an entry that is gone gives EAGAIN (6.3+)"),
      flag("relax_tlbi_on_eagain", "false", "relaxing flushes also on EAGAIN (6.12)"),
      flag("free_without_rcu", "false",
           "planted bug: free the tables of a collapsed subtree at once"),
  };
}

std::vector<registry::preset> kernel_presets() {
  const bundle v6_5 = merge(linux_6_2(), {{"hypervisor.access_fault_side", "read"},
                                          {"hypervisor.relax_eagain_on_invalid", "true"},
                                          {"hypervisor.relax_tlbi", "local"},
                                          {"hypervisor.eager_split_call", "true"}});
  return {
      {"linux-5.17", "mmu_lock is a spinlock; no fast path for permission faults",
       merge(linux_5_18(),
             {{"hypervisor.mmu_lock", "spinlock"}, {"hypervisor.permission_fast_path", "false"}})},
      {"linux-5.18-rc2", "mmu_lock is a rwlock; only page-size permission faults share it",
       linux_5_18()},
      {"linux-5.18-rc2+parallel-rfc",
       "with the series that parallelises stage-2 faults, as posted on 15 April 2022",
       merge(linux_5_18(), {{"hypervisor.fault_side", "read"},
                            {"hypervisor.walker", "rfc"},
                            {"hypervisor.collapse", "lock_descendants"},
                            {"hypervisor.split_order", "break_first"},
                            {"hypervisor.table_free", "rcu_per_page"}})},
      {"linux-6.1", "stable 6.1.192: the serial fault path with later fixes", linux_6_1()},
      {"linux-6.2", "the parallel fault path as merged", linux_6_2()},
      {"linux-6.12", "parallel access faults, local TLBI on relaxing, eager split, range flushes",
       merge(v6_5, {{"hypervisor.mark_dirty", "after_unlock"},
                    {"hypervisor.relax_tlbi_on_eagain", "true"},
                    {"hypervisor.flush_by_range", "true"},
                    {"hypervisor.unmap_level_hint", "unknown"}})},
  };
}

switches make_switches(const registry::value_map& v) {
  switches s;
  s.mmu_lock = is(v, "hypervisor.mmu_lock", "spinlock") ? lock_kind::spinlock : lock_kind::rwlock;
  s.fault_side = is(v, "hypervisor.fault_side", "read") ? lock_side::read : lock_side::write;
  s.permission_fast_path = v.boolean("hypervisor.permission_fast_path");
  s.access_fault_side =
      is(v, "hypervisor.access_fault_side", "read") ? lock_side::read : lock_side::write;
  s.mmap_lock = v.boolean("hypervisor.mmap_lock");
  s.seq_before_unlock = is(v, "hypervisor.notifier_seq", "before_unlock");
  s.s1ptw_always_write = is(v, "hypervisor.s1ptw_write", "always");
  s.dirty_inside_lock = is(v, "hypervisor.mark_dirty", "inside_lock");
  s.eager_split_call = v.boolean("hypervisor.eager_split_call");
  s.eager_split_chunk = v.size("hypervisor.eager_split_chunk");
  s.tlbi_broadcast = is(v, "hypervisor.tlbi_scope", "broadcast");
  s.flush_by_range = v.boolean("hypervisor.flush_by_range");
  s.unmap_level_unknown = is(v, "hypervisor.unmap_level_hint", "unknown");
  const std::string& walker = v.text("hypervisor.walker");
  s.tables.walker = walker == "exclusive" ? mmu::walker_flavour::exclusive
                    : walker == "rfc"     ? mmu::walker_flavour::rfc
                                          : mmu::walker_flavour::merged;
  const std::string& collapse = v.text("hypervisor.collapse");
  s.tables.collapse = collapse == "pre_post"           ? mmu::collapse_flavour::pre_post
                      : collapse == "lock_descendants" ? mmu::collapse_flavour::lock_descendants
                                                       : mmu::collapse_flavour::detach;
  s.tables.split = is(v, "hypervisor.split_order", "break_first") ? mmu::split_order::break_first
                                                                  : mmu::split_order::alloc_first;
  s.tables.relax =
      is(v, "hypervisor.relax_tlbi", "local") ? mmu::relax_tlbi::local : mmu::relax_tlbi::broadcast;
  const std::string& table_free = v.text("hypervisor.table_free");
  s.tables.free = table_free == "immediate"      ? mmu::table_free::immediate
                  : table_free == "rcu_per_page" ? mmu::table_free::rcu_per_page
                                                 : mmu::table_free::rcu_per_subtree;
  s.tables.relax_eagain_on_invalid = v.boolean("hypervisor.relax_eagain_on_invalid");
  s.tables.relax_tlbi_on_eagain = v.boolean("hypervisor.relax_tlbi_on_eagain");
  s.tables.free_without_rcu = v.boolean("hypervisor.free_without_rcu");
  return s;
}

}  // namespace hvsim::hypervisor
