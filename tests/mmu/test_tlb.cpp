// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <random>
#include <set>
#include <stdexcept>

#include "guest_tables.hpp"

using namespace mmu_test;
using mmu::access_kind;
using mmu::tlb_level;

namespace {

const descriptor s1_leaf = mmu::make_stage1_leaf(engine::ipa{}, level::l3, {});
const descriptor s2_leaf = mmu::make_stage2_leaf(engine::pa{}, level::l3, rw);

mmu::tlb_entry entry(unsigned n, level size = level::l3) {
  return mmu::tlb_entry::make(engine::pa{0x1'0000'0000} + mmu::granule_4k.size(size) * n, size,
                              s1_leaf, s2_leaf, size);
}
engine::gva page_va(unsigned n) {
  return engine::gva{} + page * n;
}

void add(mmu::tlb& t, unsigned n, engine::asid a = asid, engine::vmid v = vmid) {
  t.insert(page_va(n), t.enter(a, v), entry(n));
}
tlb_level where(mmu::tlb& t, unsigned n, engine::asid a = asid, engine::vmid v = vmid) {
  return t.lookup(page_va(n), a, v).where;
}

}  // namespace

TEST_CASE("L1 holds 48 entries and L2 five for each of its 256 sets") {
  mmu::tlb t;
  for (unsigned n = 0; n < 49; ++n) add(t, n);
  for (unsigned n = 1; n < 49; ++n) CHECK(where(t, n) == tlb_level::l1);
  CHECK(where(t, 0) == tlb_level::l2);  // first in, first out of L1; back in by this lookup
  CHECK(where(t, 0) == tlb_level::l1);
  CHECK(where(t, 1) == tlb_level::l2);
  CHECK(where(t, 49) == tlb_level::miss);
  CHECK(t.counts().l1_hits == 49);
  CHECK(t.counts().l2_hits == 2);
  CHECK(t.counts().misses == 1);

  mmu::tlb u;  // 1280 pages in a row fill all sets, the next one evicts the oldest of its set
  for (unsigned n = 0; n < 1281; ++n) add(u, n);
  CHECK(where(u, 0) == tlb_level::miss);
  for (unsigned n = 1; n < 1281; ++n) CHECK(where(u, n) != tlb_level::miss);

  mmu::tlb w;  // 6 pages of one set
  for (unsigned n = 0; n < 6; ++n) add(w, n * 256);
  for (unsigned n = 1030; n < 1078; ++n) add(w, n);  // pushes them out of L1
  CHECK(where(w, 0) == tlb_level::miss);
  for (unsigned n = 1; n < 6; ++n) CHECK(where(w, n * 256) == tlb_level::l2);
}

TEST_CASE("geometry comes from data") {
  mmu::tlb small({4, 16, 2, 8});
  for (unsigned n = 0; n < 17; ++n) add(small, n);
  unsigned l1 = 0, l2 = 0;
  for (unsigned n = 17; n-- > 0;) {  // newest first, so hits do not disturb what is to come
    const tlb_level l = where(small, n);
    l1 += l == tlb_level::l1;
    l2 += l == tlb_level::l2;
  }
  CHECK(l1 == 4);
  CHECK(l2 == 12);
  CHECK_THROWS_AS(mmu::tlb({48, 1280, 7, 64}), std::invalid_argument);
  CHECK_THROWS_AS(mmu::tlb({0, 1280, 5, 64}), std::invalid_argument);
  CHECK_THROWS_AS(mmu::tlb({48, 1280, 5, 60}), std::invalid_argument);
}

TEST_CASE("entries belong to a VMID and an ASID") {
  mmu::tlb t;
  add(t, 1);
  CHECK(where(t, 1, engine::asid{2}) == tlb_level::miss);
  CHECK(where(t, 1, asid, engine::vmid{8}) == tlb_level::miss);
  add(t, 1, engine::asid{2});
  add(t, 1, asid, engine::vmid{8});
  t.invalidate_stage1(vmid);
  CHECK(where(t, 1) == tlb_level::miss);
  CHECK(where(t, 1, engine::asid{2}) == tlb_level::miss);
  CHECK(where(t, 1, asid, engine::vmid{8}) == tlb_level::l1);
  t.invalidate_all();
  CHECK(where(t, 1, asid, engine::vmid{8}) == tlb_level::miss);
}

TEST_CASE("blocks and pages live side by side") {
  mmu::tlb t;
  t.insert(engine::gva{0x20'0000}, t.enter(asid, vmid), entry(1, level::l2));
  add(t, 3);
  const auto hit = t.lookup(engine::gva{0x3F'FFFF}, asid, vmid);
  CHECK(hit.where == tlb_level::l1);
  CHECK(hit.entry == entry(1, level::l2));
  CHECK(where(t, 3) == tlb_level::l1);
  CHECK(t.lookup(engine::gva{0x40'0000}, asid, vmid).where == tlb_level::miss);
  // Page 0x200 has the number of no block: same digits, other size.
  CHECK(where(t, 1) == tlb_level::miss);
}

TEST_CASE("invalidation by VA takes one page of one ASID") {
  mmu::tlb t;
  for (unsigned n = 0; n < 100; ++n) add(t, n);
  add(t, 99, engine::asid{2});
  t.invalidate_va(page_va(99), asid, vmid);  // in L1 and L2
  t.invalidate_va(page_va(3), asid, vmid);   // in L2 only
  CHECK(where(t, 99) == tlb_level::miss);
  CHECK(where(t, 3) == tlb_level::miss);
  CHECK(where(t, 98) == tlb_level::l1);
  CHECK(where(t, 99, engine::asid{2}) == tlb_level::l1);
}

TEST_CASE("IPAS2E1 reaches stage-2 entries only") {
  mmu::tlb t;
  const auto r = t.enter(asid, vmid);
  add(t, 1);
  t.insert_stage1_table(page_va(1), r, l3_tables);
  t.insert_stage2(data, r, {});
  t.insert_stage2(data + block, r, {});
  t.invalidate_ipa(vmid, data + page);
  CHECK(t.find_stage2(data, r) == nullptr);
  CHECK(t.find_stage2(data + block, r) != nullptr);
  CHECK(where(t, 1) == tlb_level::l1);
  CHECK(t.find_stage1_table(page_va(1), r) != nullptr);
  t.invalidate_stage1(vmid);
  CHECK(where(t, 1) == tlb_level::miss);
  CHECK(t.find_stage1_table(page_va(1), t.enter(asid, vmid)) == nullptr);
  CHECK(t.find_stage2(data + block, t.enter(asid, vmid)) != nullptr);
  t.invalidate_vmid(vmid);
  CHECK(t.find_stage2(data + block, t.enter(asid, vmid)) == nullptr);
}

TEST_CASE("a range takes what it touches, and a 1 GiB block from any address in it") {
  mmu::tlb t;
  const auto r = t.enter(asid, vmid);
  for (unsigned i = 0; i < 8; ++i) t.insert_stage2(data + block * i, r, {});
  t.invalidate_range(vmid, data + block * 2 + page, block * 2);  // touches blocks 2, 3 and 4
  for (unsigned i = 0; i < 8; ++i) {
    CAPTURE(i);
    CHECK((t.find_stage2(data + block * i, r) == nullptr) == (i >= 2 && i <= 4));
  }
  const descriptor large = mmu::make_stage2_leaf(engine::pa{0x4000'0000}, level::l1, rw);
  t.insert_stage2(data + block * 9, r, {nullptr, large, level::l1, 0});
  t.invalidate_ipa(vmid, data);
  CHECK(t.find_stage2(data + block * 9, r) == nullptr);
}

TEST_CASE("what a walk inserts after an invalidation is not found") {
  mmu::tlb t;
  const auto before = t.enter(asid, vmid);
  t.invalidate_stage1(vmid);
  t.insert(page_va(1), before, entry(1));
  CHECK(where(t, 1) == tlb_level::miss);
}

TEST_CASE("translations agree with the tables after every operation and its TLBI") {
  // The kernel's TLBIs reach the TLB through the port; nothing else invalidates it.
  struct tlbi_port : counting_port {
    using counting_port::counting_port;
    mmu::tlb* cache = nullptr;
    void tlbi_ipa(engine::ipa i, mmu::level_hint) {
      cache->invalidate_ipa(vmid, i);
      cache->invalidate_stage1(vmid);
    }
    void tlbi_ipa_local(engine::ipa i, mmu::level_hint h) { tlbi_ipa(i, h); }
    void tlbi_vmid() { cache->invalidate_vmid(vmid); }
    void tlbi_range(engine::ipa i, engine::bytes n) {
      cache->invalidate_range(vmid, i, n);
      cache->invalidate_stage1(vmid);
    }
  };
  auto policy =
      GENERATE(mmu::linux_6_1_policy(), mmu::parallel_rfc_policy(), mmu::linux_6_12_policy());
  SECTION("flush by VMID") {}
  SECTION("flush by range") {
    policy.fwb = policy.tlb_range = true;
  }
  const auto to = [](engine::ipa a) { return engine::pa{0x1'0000'0000} + (a - engine::ipa{}); };
  constexpr unsigned pages = 4 * 512;
  for (unsigned seed = 1; seed <= 3; ++seed) {
    guest_fixture g(policy);
    tlbi_port port(g.memory);
    port.s2 = &g.s2;
    port.cache = &g.cache;
    std::mt19937 random(seed);
    const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    std::uint64_t ok = 0;
    for (unsigned step = 0; step < 1500; ++step) {
      const unsigned p = below(pages);
      const engine::ipa a = data + page * p;
      const unsigned n = 1 + below(600);
      const engine::bytes some = page * std::min(n, pages - p);
      switch (below(8)) {
        case 0:
          mmu::map(port, g.s2, a.align_down(21), block, to(a.align_down(21)),
                   below(2) != 0 ? rw : ro, true);
          break;
        case 1:
        case 2:
          mmu::map(port, g.s2, a, page, to(a) + engine::bytes{below(8) == 0 ? 1ULL << 32 : 0},
                   below(2) != 0 ? rw : ro, true);
          break;
        case 3:
          mmu::relax_perms(port, g.s2, a, rw, true);
          break;
        case 4:
          if (below(8) == 0) mmu::unmap(port, g.s2, a, some);
          break;
        case 5:
          if (below(4) != 0) break;
          mmu::wrprotect(port, g.s2, a, some);
          port.tlbi_vmid();
          break;
        case 6: {  // a guest table page goes away, or all come back
          const engine::ipa table = l3_tables + page * below(4);
          if (below(16) == 0) mmu::unmap(port, g.s2, table, page);
          break;
        }
        default:
          port.run_grace_period();
          for (const engine::ipa t : {l0_table, l1_table, l2_table})
            mmu::map(port, g.s2, t, page, to(t), rw, true);
          for (unsigned i = 0; i < 4; ++i)
            mmu::map(port, g.s2, l3_tables + page * i, page, to(l3_tables + page * i), rw, true);
      }
      const unsigned window = below(pages - 80);
      for (unsigned i = 0; i < 160; ++i) {
        const engine::gva va = page_va(i < 4 ? (p + i) % pages : window + below(80));
        const auto k = static_cast<access_kind>(below(3));
        CAPTURE(seed, step, va.value());
        // What the tables say now, without any cache.
        const auto first = mmu::walk_stage1(g.reader, g.s2, g.s1, va, k);
        const auto got = g.access(va, k);
        if (!first.ok()) {
          REQUIRE(got.status == first.status);
          REQUIRE(got.s1ptw == first.s1ptw());
          REQUIRE(got.ipa == first.ipa);
          continue;
        }
        const auto second = mmu::walk_stage2(g.reader, g.s2, first.ipa, k);
        REQUIRE(got.status == second.status);
        if (second.ok()) {
          ++ok;
          REQUIRE(got.entry.base() ==
                  mmu::stage2_output(mmu::granule_4k, second.leaf, second.lvl(), first.ipa));
        } else {
          REQUIRE(got.lvl == second.lvl());
        }
      }
    }
    const auto& c = g.cache.counts();
    REQUIRE(ok > 1000);
    REQUIRE(c.l1_hits > 1000);
    REQUIRE(c.l2_hits > 100);
    REQUIRE(c.walk_hits > 1000);
  }
}

TEST_CASE("without the TLBI a stale translation stays") {
  guest_fixture g;  // its port counts TLBIs and sends them nowhere
  g.map_guest_tables(1);
  g.map(data, page);
  CHECK(g.access(page_va(0), access_kind::write).ok());
  mmu::unmap(g.port, g.s2, data, page);
  CHECK(g.access(page_va(0), access_kind::write).ok());
  // IPAS2E1 alone does not reach it, VMALLE1 does.
  g.cache.invalidate_ipa(vmid, data);
  CHECK(g.access(page_va(0), access_kind::write).ok());
  g.cache.invalidate_stage1(vmid);
  CHECK_FALSE(g.access(page_va(0), access_kind::write).ok());
}
