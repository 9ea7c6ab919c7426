// SPDX-License-Identifier: Apache-2.0
// Calls per phase against what KVM's dirty_log_perf_test (-b 64M -v 1 -g, anonymous_thp, 48-bit
// IPA) made real arm64 kernels do: Linux 6.1.192 and 6.12.117 on QEMU's Neoverse N1, and 6.12.117
// on a CPU with FEAT_S2FWB and FEAT_TLBIRANGE. Expected numbers are counts of traced events.
#include <catch2/catch.hpp>

#include "counting_port.hpp"

using namespace mmu_test;
using counts = std::map<std::string, std::uint64_t>;

namespace {

constexpr engine::ipa test_slot{0xfffffbe00000};
constexpr engine::bytes test_size{64 << 20};
constexpr engine::pa test_memory{0x1'0000'0000};
constexpr engine::pa slot0_memory{0x9000'0000};

struct guest : fixture {
  using fixture::fixture;

  engine::ipa page_of(unsigned i) const { return test_slot + page * i; }
  engine::pa memory_of(unsigned i) const { return test_memory + page * i; }

  /// Maps `pages` pages of slot 0, of which the first `executable` by instruction faults, and the
  /// test memory in 32 blocks.
  counts populate(unsigned pages, unsigned executable) {
    for (unsigned i = 0; i < pages; ++i) {
      const mmu::stage2_attributes a{true, true, i < executable};
      REQUIRE(mmu::map(port, s2, engine::ipa{} + page * i, page, slot0_memory + page * i, a,
                       true) == stage2_result::ok);
    }
    for (unsigned i = 0; i < 32; ++i)
      REQUIRE(mmu::map(port, s2, page_of(i * 512), block, memory_of(i * 512), rw, true) ==
              stage2_result::ok);
    return phase();
  }
  counts enable() {
    mmu::wrprotect(port, s2, test_slot, test_size);
    return phase();
  }
  counts write_all_by_map() {
    for (unsigned i = 0; i < 16384; ++i)
      REQUIRE(mmu::map(port, s2, page_of(i), page, memory_of(i), rw, true) == stage2_result::ok);
    return phase();
  }
  counts write_all_by_relax() {
    for (unsigned i = 0; i < 16384; ++i)
      REQUIRE(mmu::relax_perms(port, s2, page_of(i), rw, true) == stage2_result::ok);
    return phase();
  }
  counts collapse_all() {
    for (unsigned i = 0; i < 32; ++i)
      REQUIRE(mmu::map(port, s2, page_of(i * 512), block, memory_of(i * 512), rw, true) ==
              stage2_result::ok);
    return phase();
  }
  counts teardown(engine::bytes slot0_size) {
    port.run_grace_period();
    mmu::unmap(port, s2, engine::ipa{}, slot0_size);
    mmu::unmap(port, s2, test_slot, test_size);
    return phase();
  }
  void check_tree() const {
    CHECK(mmu::verify(s2) == "");
    CHECK(mmu::count_tables(s2) == memory.live_pages());
  }
};

mmu::stage2_policy linux_6_12_max() {
  mmu::stage2_policy p = mmu::linux_6_12_policy();
  p.fwb = true;
  p.tlb_range = true;
  return p;
}

}  // namespace

TEST_CASE("Linux 6.1 makes the calls of dirty_log_perf_test -g") {
  guest g(mmu::linux_6_1_policy());
  CHECK(g.populate(46, 2) == counts{{"cmo_dcache 4096", 46},
                                    {"cmo_dcache 2097152", 32},
                                    {"cmo_icache 4096", 2},
                                    {"zalloc_tbl", 5}});
  g.check_tree();
  CHECK(g.enable() == counts{});
  CHECK(g.write_all_by_map() == counts{{"cmo_dcache 4096", 16384},
                                       {"put_page", 32},
                                       {"put_pte", 32},
                                       {"tlbi_ipa L2", 32},
                                       {"zalloc_tbl", 32}});
  g.check_tree();
  g.enable();
  CHECK(g.write_all_by_relax() == counts{{"tlbi_ipa L3", 16384}});
  g.check_tree();

  SECTION("teardown") {
    // The trace shows a level of 0, 6.1's "no hint", for the 37 tables.
    CHECK(g.teardown(engine::bytes{0x247000}) == counts{{"cmo_dcache 4096", 16430},
                                                        {"put_page", 16504},
                                                        {"put_pte", 16467},
                                                        {"tlbi_ipa unknown", 37},
                                                        {"tlbi_ipa L3", 16430}});
    g.check_tree();
  }
  SECTION("a pass after logging is off collapses every block") {
    CHECK(g.collapse_all() ==
          counts{{"cmo_dcache 2097152", 32}, {"put_page", 16448}, {"tlbi_vmid", 32}});
    g.check_tree();
    CHECK(g.teardown(engine::bytes{0x247000}) == counts{{"cmo_dcache 4096", 46},
                                                        {"cmo_dcache 2097152", 32},
                                                        {"put_page", 88},
                                                        {"put_pte", 83},
                                                        {"tlbi_ipa unknown", 5},
                                                        {"tlbi_ipa L2", 32},
                                                        {"tlbi_ipa L3", 46}});
    g.check_tree();
  }
  mmu::destroy(g.port, g.s2);
  CHECK(g.memory.live_pages() == 0);
}

TEST_CASE("Linux 6.12 makes the calls of dirty_log_perf_test -g") {
  guest g(mmu::linux_6_12_policy());
  CHECK(g.populate(53, 4) == counts{{"break_pte", 90},
                                    {"cmo_dcache 4096", 53},
                                    {"cmo_dcache 2097152", 32},
                                    {"cmo_icache 4096", 4},
                                    {"zalloc_tbl", 5}});
  CHECK(g.enable() == counts{});
  CHECK(g.write_all_by_map() == counts{{"break_pte", 16416},
                                       {"cmo_dcache 4096", 16384},
                                       {"put_page", 32},
                                       {"tlbi_ipa L2", 32},
                                       {"zalloc_tbl", 32}});
  g.check_tree();
  g.enable();
  CHECK(g.write_all_by_relax() == counts{{"tlbi_ipa_nsh L3", 16384}});

  SECTION("teardown") {
    CHECK(g.teardown(engine::bytes{0x2d1000}) == counts{{"cmo_dcache 4096", 16437},
                                                        {"put_page", 16511},
                                                        {"tlbi_ipa unknown", 37},
                                                        {"tlbi_ipa L3", 16437}});
    g.check_tree();
  }
  SECTION("a pass after logging is off collapses every block") {
    counts post = g.collapse_all();
    CHECK(
        post ==
        counts{{"break_pte", 32}, {"cmo_dcache 2097152", 32}, {"put_page", 32}, {"tlbi_vmid", 32}});
    CHECK(g.port.waiting.size() == 32);
    CHECK(mmu::verify(g.s2) == "");
    const counts rest = g.teardown(engine::bytes{0x2d1000});
    // Only the sum over both phases is fixed: 9066 + 7477.
    CHECK(post["put_page"] + rest.at("put_page") == 16543);
    CHECK(rest.at("free_unlinked L2") == 32);
    CHECK(rest.at("tlbi_ipa L2") == 32);
    CHECK(rest.at("tlbi_ipa L3") == 53);
    CHECK(rest.at("tlbi_ipa unknown") == 5);
    CHECK(rest.at("cmo_dcache 2097152") == 32);
    CHECK(rest.at("cmo_dcache 4096") == 53);
    g.check_tree();
  }
  mmu::destroy(g.port, g.s2);
  CHECK(g.memory.live_pages() == 0);
}

TEST_CASE("Linux 6.12 splits blocks eagerly when logging starts") {
  guest g(mmu::linux_6_12_policy());
  g.populate(53, 4);
  g.enable();
  for (unsigned i = 0; i < 32; ++i)
    REQUIRE(mmu::split(g.port, g.s2, g.page_of(i * 512), block) == stage2_result::ok);
  CHECK(g.phase() == counts{{"break_pte", 16416},
                            {"put_page", 32},
                            {"create_unlinked L2", 32},
                            {"split 2097152", 32},
                            {"tlbi_ipa L2", 32},
                            {"zalloc_tbl", 32}});
  g.check_tree();
  // Pages keep the block's (write-protected) attributes.
  const mmu::leaf_lookup leaf = mmu::get_leaf(g.port, g.s2, g.page_of(513));
  CHECK(leaf.value == mmu::make_stage2_leaf(g.memory_of(513), level::l3, ro));
  g.phase();
  CHECK(g.write_all_by_relax() == counts{{"tlbi_ipa_nsh L3", 16384}});
}

TEST_CASE("Linux 6.12 with FWB and range TLBI") {
  guest g(linux_6_12_max());
  counts populated = g.populate(53, 4);
  CHECK(populated["break_pte"] == 90);
  CHECK(populated["cmo_icache 4096"] == 4);
  populated.erase("break_pte");
  populated.erase("cmo_icache 4096");
  CHECK(populated == counts{{"zalloc_tbl", 5}});  // no data-cache maintenance
  g.enable();
  for (unsigned i = 0; i < 32; ++i) mmu::split(g.port, g.s2, g.page_of(i * 512), block);
  g.phase();
  const counts post = g.collapse_all();
  CHECK(post == counts{{"break_pte", 32}, {"put_page", 32}, {"tlbi_range", 32}});
  counts rest = g.teardown(engine::bytes{0x2d1000});
  CHECK(rest == counts{{"put_page", 16448 - 32 + 95},
                       {"free_unlinked L2", 32},
                       {"tlbi_ipa unknown", 5},
                       {"tlbi_range", 2}});
  g.check_tree();
}

TEST_CASE("the RFC flushes and frees as posted") {
  guest g(mmu::parallel_rfc_policy());
  g.populate(46, 2);
  g.enable();
  CHECK(g.write_all_by_map() == counts{{"break_pte", 16416},
                                       {"cmo_dcache 4096", 16384},
                                       {"put_page", 32},
                                       {"tlbi_ipa L2", 32},
                                       {"zalloc_tbl", 32}});
  g.check_tree();
  // 512 pages and the table's own entry now; the table page itself after the grace period.
  CHECK(g.collapse_all() == counts{{"break_pte", 32},
                                   {"cmo_dcache 2097152", 32},
                                   {"put_page", 32 * 513},
                                   {"tlbi_vmid", 32}});
  CHECK(g.port.waiting.size() == 32);
  g.port.run_grace_period();
  CHECK(g.phase() == counts{{"put_page", 32}});
  g.check_tree();
}

TEST_CASE("mappings that differ only in permissions are left alone") {
  for (const auto& policy : {mmu::linux_6_1_policy(), mmu::parallel_rfc_policy(),
                             mmu::linux_6_2_policy(), mmu::linux_6_12_policy()}) {
    guest g(policy);
    REQUIRE(mmu::map(g.port, g.s2, test_slot, page, test_memory, ro, true) == stage2_result::ok);
    g.phase();
    CHECK(mmu::map(g.port, g.s2, test_slot, page, test_memory, rw, true) == stage2_result::again);
    CHECK(g.phase() == counts{});
    // Another output address is break-before-make.
    CHECK(mmu::map(g.port, g.s2, test_slot, page, test_memory + page, rw, true) ==
          stage2_result::ok);
    counts c = g.phase();
    CHECK(c["tlbi_ipa L3"] == 1);
    CHECK(c["put_page"] == 1);
    g.check_tree();
  }
}

TEST_CASE("an empty memory cache is -ENOMEM and leaves a consistent tree") {
  for (const auto& policy :
       {mmu::linux_6_1_policy(), mmu::parallel_rfc_policy(), mmu::linux_6_12_policy()}) {
    guest g(policy);
    g.port.cache = 2;
    CHECK(mmu::map(g.port, g.s2, test_slot, page, test_memory, rw, true) == stage2_result::nomem);
    g.check_tree();
    CHECK(mmu::count_tables(g.s2) == 3);
    CHECK(mmu::map(g.port, g.s2, test_slot, block, test_memory, rw, true) == stage2_result::ok);
    CHECK(mmu::map(g.port, g.s2, test_slot, page, test_memory, rw, true) == stage2_result::nomem);
    g.check_tree();
    const bool gone = policy.split == mmu::split_order::break_first;
    CHECK(mmu::get_leaf(g.port, g.s2, test_slot).value.valid() == !gone);
    if (policy.walker == mmu::walker_flavour::merged)
      CHECK(mmu::split(g.port, g.s2, test_slot, block) == stage2_result::nomem);
  }
}

TEST_CASE("eager split of a 1 GiB block") {
  guest g(mmu::linux_6_12_policy());
  const engine::bytes gib = engine::gibibytes(1);
  const engine::ipa at{0x4000'0000};
  const engine::pa to{0x8'0000'0000};
  REQUIRE(mmu::map(g.port, g.s2, at, gib, to, ro, false) == stage2_result::ok);
  g.phase();
  SECTION("with 513 pages in the cache it is one unlinked tree") {
    g.port.cache = 513;
    CHECK(mmu::split(g.port, g.s2, at, gib) == stage2_result::ok);
    const counts c = g.phase();
    CHECK(c.at("create_unlinked L1") == 1);
    CHECK(c.count("create_unlinked L2") == 0);
    CHECK(c.at("zalloc_tbl") == 513);
    CHECK(c.at("tlbi_ipa L1") == 1);
    CHECK(c.at("break_pte") == 1 + 512 + 512 * 512);
  }
  SECTION("with less it goes through blocks until the cache is empty") {
    g.port.cache = 512;
    CHECK(mmu::split(g.port, g.s2, at, gib) == stage2_result::nomem);
    const counts c = g.phase();
    CHECK(c.at("create_unlinked L1") == 1);
    CHECK(c.at("create_unlinked L2") == 511);
    CHECK(c.at("tlbi_ipa L1") == 1);
    CHECK(c.at("tlbi_ipa L2") == 511);
    CHECK(mmu::get_leaf(g.port, g.s2, at + gib - page).entry.lvl == level::l2);
  }
  CHECK(mmu::get_leaf(g.port, g.s2, at + page).value ==
        mmu::make_stage2_leaf(to + page, level::l3, ro));
  g.check_tree();
}

TEST_CASE("ranges and sizes that make no sense are refused") {
  guest g(mmu::linux_6_12_policy(), 40);
  const engine::ipa end{std::uint64_t{1} << 40};
  CHECK_THROWS_AS(mmu::map(g.port, g.s2, end, page, test_memory, rw, true), mmu::table_error);
  CHECK_THROWS_AS(mmu::unmap(g.port, g.s2, end - page, page + page), mmu::table_error);
  CHECK_THROWS_AS(mmu::map(g.port, g.s2, engine::ipa{}, engine::bytes{8192}, test_memory, rw, true),
                  mmu::table_error);
  CHECK_THROWS_AS(mmu::map(g.port, g.s2, engine::ipa{4096}, block, test_memory, rw, true),
                  mmu::table_error);
  CHECK(mmu::map(g.port, g.s2, end - page, page, test_memory, rw, true) == stage2_result::ok);
  g.check_tree();
}
