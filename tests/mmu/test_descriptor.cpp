// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "mmu/descriptor.hpp"

using namespace hvsim;
using namespace hvsim::mmu;

// Expected values are put together by hand from the field tables of the Arm ARM.
TEST_CASE("stage-2 leaf descriptors are bit-exact") {
  const engine::pa page{0x1234'5678'9000};
  // valid|page 0x3, MemAttr 0xf<<2 = 0x3c, S2AP rw 0xc0, SH 0x300, AF 0x400; XN bit 54.
  CHECK(make_stage2_leaf(page, level::l3, {true, true, true}).raw() == 0x0000'1234'5678'97FF);
  CHECK(make_stage2_leaf(page, level::l3, {true, true, false}).raw() == 0x0040'1234'5678'97FF);
  CHECK(make_stage2_leaf(page, level::l3, {true, false, false}).raw() == 0x0040'1234'5678'977F);
  CHECK(make_stage2_leaf(page, level::l3, {false, false, false}).raw() == 0x0040'1234'5678'973F);
  // Device: MemAttr 1<<2.
  CHECK(make_stage2_leaf(page, level::l3, {true, true, false, true}).raw() ==
        0x0040'1234'5678'97C7);
  // FWB: Normal is 6<<2 = 0x18.
  CHECK(make_stage2_leaf(page, level::l3, {true, true, false, false, true}).raw() ==
        0x0040'1234'5678'97DB);
  // A block has descriptor[1] clear.
  CHECK(make_stage2_leaf(engine::pa{0x4000'0000}, level::l2, {true, true, true}).raw() ==
        0x0000'0000'4000'07FD);
  CHECK(make_stage2_leaf(engine::pa{0x4000'0000}, level::l1, {true, true, true}).raw() ==
        0x0000'0000'4000'07FD);
}

TEST_CASE("stage-2 attributes survive encoding") {
  for (unsigned i = 0; i < 32; ++i) {
    const stage2_attributes a{(i & 1) != 0, (i & 2) != 0, (i & 4) != 0, (i & 8) != 0,
                              (i & 16) != 0};
    const descriptor d = make_stage2_leaf(engine::pa{0x7000}, level::l3, a);
    CHECK(decode_stage2_attributes(d, a.fwb) == a);
    CHECK(d.s2_cacheable(a.fwb) == !a.device);
  }
}

TEST_CASE("table, invalid, owner and locked entries") {
  const descriptor table = make_table(engine::pa{0x8000'1000});
  CHECK(table.raw() == 0x8000'1003);
  CHECK(table.is_table(level::l0));
  CHECK(table.is_table(level::l2));
  CHECK_FALSE(table.is_table(level::l3));
  CHECK(table.is_leaf(level::l3));
  CHECK_FALSE(table.is_leaf(level::l2));
  CHECK(table.table_address(granule_4k) == engine::pa{0x8000'1000});

  CHECK_FALSE(descriptor{0x1001}.is_leaf(level::l3));  // reserved at level 3
  CHECK(descriptor{0x20'0001}.is_leaf(level::l2));

  CHECK(locked_descriptor.raw() == 0x400);
  CHECK(locked_descriptor.locked());
  CHECK(locked_descriptor.counted());
  CHECK_FALSE(locked_descriptor.valid());
  // Bit 10 of a valid entry is AF, not the marker.
  CHECK_FALSE(descriptor{0x401}.locked());

  CHECK(make_invalid_owner(3).raw() == 0xC);
  CHECK(make_invalid_owner(0xFF).raw() == 0x3FC);
  CHECK(make_invalid_owner(0xFF).owner() == 0xFF);
  CHECK_FALSE(make_invalid_owner(0xFF).valid());
  CHECK_FALSE(make_invalid_owner(0xFF).locked());
  CHECK_FALSE(descriptor{}.counted());
}

TEST_CASE("addresses follow the granule") {
  const descriptor d{0x0000'FFFF'FFFF'F003};
  CHECK(d.table_address(granule_4k) == engine::pa{0xFFFF'FFFF'F000});
  CHECK(d.table_address(granule_16k) == engine::pa{0xFFFF'FFFF'C000});
  CHECK(d.table_address(granule_64k) == engine::pa{0xFFFF'FFFF'0000});
  CHECK(d.output_base(granule_4k, level::l2) == engine::pa{0xFFFF'FFE0'0000});
  CHECK(d.output_base(granule_16k, level::l2) == engine::pa{0xFFFF'FE00'0000});
  CHECK(d.output_base(granule_64k, level::l2) == engine::pa{0xFFFF'E000'0000});
}

TEST_CASE("stage-1 leaf descriptors are bit-exact") {
  // AttrIndx 4<<2 = 0x10, SH 0x300, AF 0x400, page 0x3, EL1 only: UXN bit 54.
  stage1_attributes a;
  a.attr_index = 4;
  CHECK(make_stage1_leaf(engine::ipa{0xABC000}, level::l3, a).raw() == 0x0040'0000'00AB'C713);
  a.write = false;  // AP[2] bit 7
  CHECK(make_stage1_leaf(engine::ipa{0xABC000}, level::l3, a).raw() == 0x0040'0000'00AB'C793);
  a.execute = false;  // PXN bit 53
  CHECK(make_stage1_leaf(engine::ipa{0xABC000}, level::l3, a).raw() == 0x0060'0000'00AB'C793);
  a.user = true;  // AP[1] bit 6, and then no UXN
  a.not_global = true;
  a.accessed = false;
  CHECK(make_stage1_leaf(engine::ipa{0xABC000}, level::l3, a).raw() == 0x0020'0000'00AB'CBD3);
  CHECK(decode_stage1_attributes(make_stage1_leaf(engine::ipa{0xABC000}, level::l3, a)) == a);
  CHECK(make_stage1_leaf(engine::ipa{0x20'0000}, level::l2, {}).raw() == 0x0040'0000'0020'0701);
}
