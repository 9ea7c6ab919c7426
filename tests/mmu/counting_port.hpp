// SPDX-License-Identifier: Apache-2.0
// A port that counts every call, keeps a memory cache of tables and checks every access.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "mmu/stage2_ops.hpp"

namespace mmu_test {

using namespace hvsim;
using mmu::descriptor;
using mmu::entry_ref;
using mmu::level;
using mmu::stage2_result;
using mmu::table_page;

inline std::string operator+(const char* a, level l) {
  return std::string(a) + "L" + std::to_string(mmu::to_int(l));
}
inline std::string hint_name(const char* a, mmu::level_hint h) {
  return h ? a + *h : std::string(a) + "unknown";
}

struct counting_port {
  explicit counting_port(mmu::table_memory& m) : memory(m) {}

  mmu::table_memory& memory;
  mmu::stage2* s2 = nullptr;
  std::map<std::string, std::uint64_t> counts;
  std::size_t cache = 1'000'000;
  struct deferred {
    table_page* table;
    level lvl;
    bool page_only;
  };
  std::vector<deferred> waiting;
  std::vector<engine::ipa> flushed;
  std::vector<engine::pa> cleaned;
  /// Runs before the n-th access (1-based) that follows setting it; used to interleave.
  std::uint64_t accesses = 0;
  std::map<std::uint64_t, std::function<void()>> at_access;

  void step() {
    ++accesses;
    if (const auto it = at_access.find(accesses); it != at_access.end()) {
      auto run = std::move(it->second);
      at_access.erase(it);
      run();
    }
  }
  descriptor load(const entry_ref& e) {
    step();
    mmu::table_memory::check_access(e.table);
    return e.in_memory();
  }
  void store(const entry_ref& e, descriptor d) {
    step();
    mmu::table_memory::check_access(e.table);
    e.in_memory() = d;
  }
  bool compare_exchange(const entry_ref& e, descriptor expected, descriptor desired) {
    step();
    mmu::table_memory::check_access(e.table);
    if (e.in_memory() != expected) return false;
    e.in_memory() = desired;
    return true;
  }
  descriptor exchange(const entry_ref& e, descriptor desired) {
    step();
    mmu::table_memory::check_access(e.table);
    const descriptor old = e.in_memory();
    e.in_memory() = desired;
    return old;
  }
  table_page* alloc_table(level l) {
    if (cache == 0) return nullptr;
    --cache;
    ++counts["zalloc_tbl"];
    return memory.alloc(l);
  }
  std::size_t tables_available() const { return cache; }
  void free_table(table_page* t) { memory.put(t); }
  void defer_free(table_page* t, level l) { waiting.push_back({t, l, false}); }
  void defer_put_page(table_page* t) { waiting.push_back({t, level::l3, true}); }
  void get_page(table_page* t) {
    ++counts["get_page"];
    memory.get(t);
  }
  void put_page(table_page* t) {
    ++counts["put_page"];
    memory.put(t);
  }
  void tlbi_ipa(engine::ipa i, mmu::level_hint h) {
    flushed.push_back(i);
    ++counts[hint_name("tlbi_ipa ", h)];
  }
  void tlbi_ipa_local(engine::ipa i, mmu::level_hint h) {
    flushed.push_back(i);
    ++counts[hint_name("tlbi_ipa_nsh ", h)];
  }
  void tlbi_vmid() { ++counts["tlbi_vmid"]; }
  void tlbi_range(engine::ipa, engine::bytes) { ++counts["tlbi_range"]; }
  void clean_dcache(engine::pa a, engine::bytes n) {
    cleaned.push_back(a);
    ++counts["cmo_dcache " + std::to_string(n.value())];
  }
  void invalidate_icache(engine::pa, engine::bytes n) {
    ++counts["cmo_icache " + std::to_string(n.value())];
  }
  void dsb_ishst() { ++counts["dsb"]; }
  void relax_cpu() {
    ++counts["relax_cpu"];
    step();
  }
  void visit(level) { ++counts["visit"]; }
  void put_pte_called() { ++counts["put_pte"]; }
  void break_pte_called() { ++counts["break_pte"]; }
  void create_unlinked_called(level l) { ++counts["create_unlinked " + l]; }
  void free_unlinked_called(level l) { ++counts["free_unlinked " + l]; }
  void split_called(engine::bytes n) { ++counts["split " + std::to_string(n.value())]; }

  void run_grace_period() {
    const std::vector<deferred> batch = std::move(waiting);
    waiting.clear();
    for (const deferred& d : batch) {
      if (d.page_only)
        put_page(d.table);
      else
        mmu::free_unlinked(*this, *s2, d.table, d.lvl);
    }
  }
};
static_assert(mmu::stage2_port<counting_port>);

inline constexpr engine::bytes page{4096};
inline constexpr engine::bytes block{2 << 20};
inline constexpr mmu::stage2_attributes rw{true, true, false};
inline constexpr mmu::stage2_attributes ro{true, false, false};

/// A tree with its memory and port.
struct fixture {
  explicit fixture(const mmu::stage2_policy& policy, unsigned ipa_bits = 48)
      : s2(mmu::make_stage2(memory, ipa_bits, policy)), port(memory) {
    port.s2 = &s2;
  }
  fixture(const fixture&) = delete;
  fixture& operator=(const fixture&) = delete;
  mmu::table_memory memory{mmu::granule_4k, engine::mebibytes(64)};
  mmu::stage2 s2;
  counting_port port;

  /// Counts since the last call; zero counts are left out.
  std::map<std::string, std::uint64_t> phase() {
    auto taken = std::move(port.counts);
    port.counts.clear();
    taken.erase("visit");
    taken.erase("dsb");
    taken.erase("get_page");
    return taken;
  }
};

}  // namespace mmu_test
