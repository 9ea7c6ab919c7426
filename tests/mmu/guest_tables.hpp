// SPDX-License-Identifier: Apache-2.0
// A guest with stage-1 tables made up on demand: VA n * 4 KiB maps to IPA `data` + n * 4 KiB.
#pragma once

#include "counting_port.hpp"
#include "mmu/translate.hpp"

namespace mmu_test {

inline constexpr engine::ipa l0_table{0x10000}, l1_table{0x11000}, l2_table{0x12000},
    l3_tables{0x400000}, data{0x4000'0000};

/// Reads tables of the fixture and the guest's made-up stage-1 tables.
struct guest_reader {
  std::uint64_t loads = 0, stage1_loads = 0;
  mmu::stage1_attributes attributes{};  ///< of every guest page
  descriptor load(const entry_ref& e) {
    ++loads;
    mmu::table_memory::check_access(e.table);
    return e.in_memory();
  }
  bool compare_exchange(const entry_ref& e, descriptor expected, descriptor desired) {
    if (e.in_memory() != expected) return false;
    e.in_memory() = desired;
    return true;
  }
  void visit(level) {}
  descriptor load_stage1(engine::ipa a, level l) {
    ++stage1_loads;
    const std::uint64_t index = (a.value() & 0xFFF) / 8;
    switch (l) {
      case level::l0:
        return index == 0 ? mmu::make_stage1_table(l1_table) : descriptor{};
      case level::l1:
        return index == 0 ? mmu::make_stage1_table(l2_table) : descriptor{};
      case level::l2:
        return mmu::make_stage1_table(l3_tables + page * index);
      case level::l3:
        break;
    }
    return mmu::make_stage1_leaf(data + page * ((a - l3_tables).value() / 8), level::l3,
                                 attributes);
  }
};
static_assert(mmu::stage1_reader<guest_reader>);

inline constexpr engine::asid asid{1};
inline constexpr engine::vmid vmid{7};

struct guest_fixture : fixture {
  explicit guest_fixture(const mmu::stage2_policy& policy = mmu::linux_6_12_policy())
      : fixture(policy) {
    s1.table = l0_table;
  }
  mmu::stage1 s1;
  guest_reader reader;
  mmu::tlb cache;

  void map(engine::ipa a, engine::bytes n, const mmu::stage2_attributes& attributes = rw) {
    REQUIRE(mmu::map(port, s2, a, n, engine::pa{0x1'0000'0000} + (a - engine::ipa{}), attributes,
                     true) == stage2_result::ok);
  }
  void map_guest_tables(unsigned l3_count) {
    map(l0_table, page);
    map(l1_table, page);
    map(l2_table, page);
    for (unsigned i = 0; i < l3_count; ++i) map(l3_tables + page * i, page);
  }
  mmu::translation access(engine::gva va, mmu::access_kind k,
                          const mmu::walk_options& options = {}) {
    return mmu::translate(reader, s2, s1, cache, va, asid, vmid, k, options);
  }
};

}  // namespace mmu_test
