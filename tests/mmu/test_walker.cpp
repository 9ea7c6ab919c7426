// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "guest_tables.hpp"

using namespace mmu_test;
using mmu::access_kind;
using mmu::fault_status;

TEST_CASE("stage-2 walks report the level at which they end") {
  guest_fixture g;
  const auto walk = [&](engine::ipa a, access_kind k, const mmu::walk_options& o = {}) {
    return mmu::walk_stage2(g.reader, g.s2, a, k, o);
  };
  const auto fault = [&](engine::ipa a) {
    const auto r = walk(a, access_kind::read);
    REQUIRE(r.status == fault_status::translation);
    return r.lvl();
  };
  CHECK(fault(data) == level::l0);
  g.map(data, page, ro);
  CHECK(fault(engine::ipa{0x8000'0000}) == level::l1);
  CHECK(fault(data + block) == level::l2);
  CHECK(fault(data + page) == level::l3);
  CHECK(fault(engine::ipa{std::uint64_t{1} << 48}) == level::l0);

  const auto ok = walk(data + engine::bytes{0x123}, access_kind::read);
  CHECK(ok.ok());
  CHECK(mmu::stage2_output(mmu::granule_4k, ok.leaf, ok.lvl(), data + engine::bytes{0x123}) ==
        engine::pa{0x1'4000'0123});
  CHECK(walk(data, access_kind::write).status == fault_status::permission);
  CHECK(walk(data, access_kind::execute).status == fault_status::permission);
  CHECK(walk(data, access_kind::write).lvl() == level::l3);

  mmu::walk_options small;
  small.pa_bits = 32;
  CHECK(walk(data, access_kind::read, small).status == fault_status::address_size);

  // An entry that a kernel walker holds is invalid to hardware.
  ok.entry.in_memory() = mmu::locked_descriptor;
  CHECK(walk(data, access_kind::read).status == fault_status::translation);
}

TEST_CASE("the access flag is set by hardware or faults") {
  guest_fixture g;
  g.map(data, page);
  mmu::test_clear_young(g.port, g.s2, data, page, true);
  mmu::walk_options software;
  software.hardware_af = false;
  const auto r = mmu::walk_stage2(g.reader, g.s2, data, access_kind::read, software);
  CHECK(r.status == fault_status::access_flag);
  CHECK(r.lvl() == level::l3);
  CHECK_FALSE(r.entry.in_memory().accessed());
  CHECK(mmu::walk_stage2(g.reader, g.s2, data, access_kind::read).ok());
  CHECK(r.entry.in_memory().accessed());
}

TEST_CASE("stage-1 walks fault on their tables as reads through stage 2") {
  guest_fixture g;
  const auto walk = [&](engine::gva va, access_kind k) {
    return mmu::walk_stage1(g.reader, g.s2, g.s1, va, k);
  };
  const engine::gva va{0x20'1234};
  // Nothing is mapped: the start table itself.
  auto r = walk(va, access_kind::write);
  CHECK(r.s1ptw());
  CHECK(r.status == fault_status::translation);
  CHECK(r.lvl == level::l0);
  CHECK(r.ipa == l0_table);
  g.map(l0_table, page);
  r = walk(va, access_kind::write);
  CHECK(r.s1ptw());
  CHECK(r.lvl == level::l3);
  CHECK(r.ipa == l1_table);
  g.map(l1_table, page);
  g.map(l2_table, page);
  r = walk(va, access_kind::write);  // index 1 of level 2, index 1 of its level 3 table
  CHECK(r.s1ptw());
  CHECK(r.lvl == level::l2);
  CHECK(r.ipa == l3_tables + page + engine::bytes{8});
  // A write by the guest needs only read permission for its tables.
  g.map(l3_tables + page, page, ro);
  r = walk(va, access_kind::write);
  CHECK(r.ok());
  CHECK(r.ipa == data + engine::bytes{0x20'1234});

  g.reader.attributes.write = false;
  r = walk(va, access_kind::write);
  CHECK(r.status == fault_status::permission);
  CHECK_FALSE(r.s1ptw());
  CHECK(r.stage == mmu::walk_stage::stage1);
  CHECK(r.lvl == level::l3);
  g.reader.attributes.accessed = false;
  CHECK(walk(va, access_kind::read).status == fault_status::access_flag);
  CHECK(walk(engine::gva{0x40'0000'0000}, access_kind::read).lvl == level::l1);
  CHECK(walk(engine::gva{std::uint64_t{1} << 48}, access_kind::read).lvl == level::l0);
}

TEST_CASE("a translated access faults, walks once, and then hits") {
  guest_fixture g;
  const engine::gva va{0x3008};
  auto t = g.access(va, access_kind::write);
  CHECK(t.s1ptw);
  CHECK(t.ipa == l0_table);
  g.map_guest_tables(1);
  t = g.access(va, access_kind::write);
  CHECK_FALSE(t.s1ptw);
  CHECK(t.status == fault_status::translation);
  CHECK(t.stage == mmu::walk_stage::stage2);
  CHECK(t.lvl == level::l1);
  CHECK(t.ipa == data + engine::bytes{0x3008});
  g.map(data, block, ro);
  CHECK(g.access(va, access_kind::write).status == fault_status::permission);
  CHECK(g.access(va, access_kind::write).lvl == level::l2);
  t = g.access(va, access_kind::read);
  CHECK(t.ok());
  CHECK(t.found == mmu::tlb_level::miss);
  CHECK(t.entry.base() == engine::pa{0x1'4000'3000});
  CHECK(t.entry.size() == level::l3);  // the guest's page is the smaller leaf
  CHECK(t.entry.s2_level() == level::l2);
  t = g.access(va, access_kind::read);
  CHECK(t.found == mmu::tlb_level::l1);
  // Walk caches: the next page costs one stage-1 descriptor and no stage-2 one (a block).
  g.reader.loads = g.reader.stage1_loads = 0;
  CHECK(g.access(va + page, access_kind::read).ok());
  CHECK(g.reader.stage1_loads == 1);
  CHECK(g.reader.loads == 0);
  // A write hits the read-only entry and faults from the TLB.
  t = g.access(va, access_kind::write);
  CHECK(t.found == mmu::tlb_level::l1);
  CHECK(t.status == fault_status::permission);
  CHECK(t.stage == mmu::walk_stage::stage2);
  CHECK(t.lvl == level::l2);
}
