// SPDX-License-Identifier: Apache-2.0
// Syndromes as real KVM logged them for QEMU's Neoverse N1, decoded by hand with the Arm ARM.
#include <catch2/catch.hpp>

#include "vcpu/syndrome.hpp"

using namespace hvsim;
using namespace hvsim::vcpu;
using hvsim::mmu::fault_status;
using hvsim::mmu::level;

TEST_CASE("recorded write permission fault at level 2") {
  // 0x93d5804e = EC 0x24, IL, ISV, SAS 3, SSE 0, SRT 21, SF 1, WnR, FSC 0x0e.
  const syndrome s{0x93d5804e};
  CHECK(s.is_data_abort());
  CHECK(s.wnr());
  CHECK_FALSE(s.s1ptw());
  CHECK(s.status() == fault_status::permission);
  CHECK(s.lvl() == level::l2);
  CHECK(s.access() == access_syndrome{true, 3, false, 21, true});
  const abort_info a{false, fault_status::permission,  level::l2, false, true,
                     false, {true, 3, false, 21, true}};
  CHECK(syndrome::encode(a).esr() == 0x93d5804e);
  CHECK_FALSE(hpfar_valid(s));

  const fault_registers r{s, engine::gva{0xc0000000}, hpfar::encode(engine::ipa{0xfffffbe00000})};
  CHECK(r.hpfar_el2.raw() == 0xfffffbe000);
  CHECK(r.fault_ipa() == engine::ipa{0xfffffbe00000});
}

TEST_CASE("recorded instruction abort on a stage-1 walk at level 0") {
  const syndrome s{0x82000084};
  CHECK(s.is_instruction_abort());
  CHECK_FALSE(s.is_exec());
  CHECK(s.s1ptw());
  CHECK(s.status() == fault_status::translation);
  CHECK(s.lvl() == level::l0);
  CHECK_FALSE(s.wnr());
  CHECK(hpfar_valid(s));
  CHECK(syndrome::encode({true, fault_status::translation, level::l0, true}).esr() == 0x82000084);
  const fault_registers r{s, engine::gva{0x405ac0}, hpfar::encode(engine::ipa{0x180000})};
  CHECK(r.fault_ipa() == engine::ipa{0x180000});
}

TEST_CASE("recorded data write on a stage-1 walk at level 3") {
  const syndrome s{0x920000c7};
  CHECK(s.is_data_abort());
  CHECK(s.wnr());
  CHECK(s.s1ptw());
  CHECK(s.status() == fault_status::translation);
  CHECK(s.lvl() == level::l3);
  CHECK_FALSE(s.access().valid);
  CHECK(syndrome::encode({false, fault_status::translation, level::l3, true, true}).esr() ==
        0x920000c7);
}

TEST_CASE("recorded word read at level 3") {
  // 0x93820007 = EC 0x24, IL, ISV, SAS 2 (word), SSE 0, SRT 2, SF 0, read, FSC 0x07.
  const syndrome s{0x93820007};
  CHECK(s.is_data_abort());
  CHECK_FALSE(s.wnr());
  CHECK(s.status() == fault_status::translation);
  CHECK(s.lvl() == level::l3);
  CHECK(s.access() == access_syndrome{true, 2, false, 2, false});
}

TEST_CASE("every abort survives encoding, and other codes are no table faults") {
  for (unsigned i = 0; i < 16 * 16; ++i) {
    abort_info a;
    a.instruction = (i & 0x10) != 0;
    a.status = static_cast<fault_status>(i >> 2 & 3);
    a.lvl = static_cast<level>(i & 3);
    a.s1ptw = (i & 0x20) != 0;
    a.write = !a.instruction && (i & 0x40) != 0;
    a.cache_maintenance = !a.instruction && (i & 0x80) != 0;
    CHECK(syndrome::encode(a).decode() == a);
    CHECK(syndrome::encode(a).fsc() == (i & 0xF));
  }
  CHECK(syndrome{0x96000010}.status() == fault_status::none);  // synchronous external abort
  CHECK(syndrome{0x96000021}.status() == fault_status::none);  // alignment
}

TEST_CASE("offset in the page comes from FAR") {
  const fault_registers r{syndrome{0x93820007}, engine::gva{0x7fff'1234},
                          hpfar::encode(engine::ipa{0x8'5678'9000})};
  CHECK(r.fault_ipa() == engine::ipa{0x8'5678'9234});
}
