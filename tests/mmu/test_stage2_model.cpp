// SPDX-License-Identifier: Apache-2.0
// Random sequences of operations against a plain map of 4 KiB pages.
#include <catch2/catch.hpp>
#include <map>
#include <random>

#include "counting_port.hpp"

using namespace mmu_test;

namespace {

struct mapping {
  engine::pa to;
  bool write;
};

/// Memory of 6 blocks at a place that crosses a level 1 entry; its output congruent to 2 MiB.
constexpr unsigned blocks = 6;
constexpr engine::ipa base{0x3FA0'0000};
constexpr engine::pa target{0x7'FFA0'0000};

struct model_run {
  explicit model_run(const mmu::stage2_policy& policy, unsigned ipa_bits) : f(policy, ipa_bits) {}
  fixture f;
  std::map<unsigned, mapping> pages;  // page number from base
  std::map<unsigned, bool> is_block;  // block number: mapped by one block entry, written so?

  engine::ipa ipa(unsigned p) const { return base + page * p; }
  engine::pa pa(unsigned p, bool moved) const {
    return target + page * p + (moved ? engine::gibibytes(1) : engine::bytes{});
  }

  void map_page(unsigned p, bool write, bool moved) {
    const stage2_result r =
        mmu::map(f.port, f.s2, ipa(p), page, pa(p, moved), write ? rw : ro, true);
    const unsigned b = p / 512;
    if (is_block.count(b) != 0) {  // only this page stays
      REQUIRE(r == stage2_result::ok);
      is_block.erase(b);
      for (unsigned i = 0; i < 512; ++i) pages.erase(b * 512 + i);
    } else if (const auto it = pages.find(p); it != pages.end() && it->second.to == pa(p, moved)) {
      REQUIRE(r == stage2_result::again);
      return;
    }
    REQUIRE(r == stage2_result::ok);
    pages[p] = {pa(p, moved), write};
  }
  void map_block(unsigned b, bool write, bool moved) {
    const stage2_result r =
        mmu::map(f.port, f.s2, ipa(b * 512), block, pa(b * 512, moved), write ? rw : ro, true);
    if (is_block.count(b) != 0 && pages.at(b * 512).to == pa(b * 512, moved)) {
      REQUIRE(r == stage2_result::again);
      return;
    }
    REQUIRE(r == stage2_result::ok);
    is_block[b] = true;
    for (unsigned i = 0; i < 512; ++i) pages[b * 512 + i] = {pa(b * 512 + i, moved), write};
  }
  void unmap(unsigned first, unsigned n) {
    mmu::unmap(f.port, f.s2, ipa(first), page * n);
    for (unsigned b = 0; b < blocks; ++b) {  // a block goes as a whole
      if (is_block.count(b) == 0 || first >= (b + 1) * 512 || first + n <= b * 512) continue;
      is_block.erase(b);
      for (unsigned i = 0; i < 512; ++i) pages.erase(b * 512 + i);
    }
    for (unsigned p = first; p < first + n; ++p) pages.erase(p);
  }
  void wrprotect(unsigned first, unsigned n) {
    mmu::wrprotect(f.port, f.s2, ipa(first), page * n);
    for (unsigned b = 0; b < blocks; ++b)
      if (is_block.count(b) != 0 && first < (b + 1) * 512 && first + n > b * 512)
        for (unsigned i = 0; i < 512; ++i) pages[b * 512 + i].write = false;
    for (unsigned p = first; p < first + n; ++p)
      if (const auto it = pages.find(p); it != pages.end()) it->second.write = false;
  }
  void relax(unsigned p) {
    const stage2_result r = mmu::relax_perms(f.port, f.s2, ipa(p), rw, true);
    const auto it = pages.find(p);
    if (it == pages.end()) {
      REQUIRE(r ==
              (f.s2.policy.relax_eagain_on_invalid ? stage2_result::again : stage2_result::ok));
      return;
    }
    REQUIRE(r == stage2_result::ok);
    it->second.write = true;
    if (is_block.count(p / 512) != 0)
      for (unsigned i = 0; i < 512; ++i) pages[p / 512 * 512 + i].write = true;
  }
  void split(unsigned first, unsigned n) {
    REQUIRE(mmu::split(f.port, f.s2, ipa(first), page * n) == stage2_result::ok);
    for (unsigned b = 0; b < blocks; ++b)
      if (first < (b + 1) * 512 && first + n > b * 512) is_block.erase(b);
  }

  void check(bool every_page) {
    REQUIRE(mmu::verify(f.s2) == "");
    const unsigned step = every_page ? 1 : 37;
    for (unsigned p = 0; p < blocks * 512; p += step) {
      const mmu::leaf_lookup leaf = mmu::get_leaf(f.port, f.s2, ipa(p));
      const auto it = pages.find(p);
      REQUIRE(leaf.value.valid() == (it != pages.end()));
      if (it == pages.end()) continue;
      const level l = is_block.count(p / 512) != 0 ? level::l2 : level::l3;
      REQUIRE(leaf.entry.lvl == l);
      REQUIRE(leaf.value.output_base(mmu::granule_4k, l) +
                  engine::bytes{ipa(p).value() & (mmu::granule_4k.size(l).value() - 1)} ==
              it->second.to);
      REQUIRE(leaf.value.s2_writable() == it->second.write);
    }
  }
};

void random_run(const mmu::stage2_policy& policy, unsigned ipa_bits, unsigned seed) {
  model_run m(policy, ipa_bits);
  std::mt19937 random(seed);
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  const bool can_split = policy.walker == mmu::walker_flavour::merged;
  for (unsigned step = 0; step < 400; ++step) {
    const unsigned first = below(blocks * 512);
    const unsigned n = 1 + below(std::min(1500U, blocks * 512 - first));
    CAPTURE(seed, step, first, n);
    switch (below(12)) {
      case 0:
      case 1:
      case 2:
      case 3:
        for (unsigned i = 0; i < 8; ++i)
          m.map_page(below(blocks * 512), below(2) != 0, below(4) == 0);
        break;
      case 4:
      case 5:
        m.map_block(below(blocks), below(2) != 0, below(4) == 0);
        break;
      case 6:
        m.unmap(first, n);
        break;
      case 7:
        m.wrprotect(first, n);
        break;
      case 8:
        if (can_split) m.split(first, n);
        break;
      case 9:
        m.f.port.run_grace_period();
        break;
      default:
        for (unsigned i = 0; i < 8; ++i) m.relax(below(blocks * 512));
    }
    m.check(step % 50 == 49);
  }
  m.f.port.run_grace_period();
  REQUIRE(mmu::count_tables(m.f.s2) == m.f.memory.live_pages());
  m.unmap(0, blocks * 512);
  REQUIRE(mmu::count_tables(m.f.s2) == m.f.s2.geometry.start_tables);
  mmu::destroy(m.f.port, m.f.s2);
  REQUIRE(m.f.memory.live_pages() == 0);
}

}  // namespace

TEST_CASE("tables agree with a plain map under random operations") {
  const auto policy = GENERATE(mmu::linux_6_1_policy(), mmu::parallel_rfc_policy(),
                               mmu::linux_6_2_policy(), mmu::linux_6_12_policy());
  for (unsigned seed = 1; seed <= 6; ++seed) random_run(policy, seed % 2 == 0 ? 40 : 48, seed);
}

TEST_CASE("the other granules work as data") {
  const auto g = GENERATE(mmu::granule_16k, mmu::granule_64k);
  mmu::table_memory memory(g, engine::mebibytes(64));
  counting_port port(memory);
  // 40 bits: 16 start tables of level 2 with 16K, one with 64K.
  mmu::stage2 s2 = mmu::make_stage2(memory, 40, mmu::linux_6_12_policy());
  port.s2 = &s2;
  const engine::bytes small = g.page_size();
  const engine::bytes large = g.size(level::l2);  // 32 MiB, 512 MiB
  const engine::ipa last = engine::ipa{std::uint64_t{1} << 40} - large;
  const engine::pa to{0x80'0000'0000};
  REQUIRE(mmu::map(port, s2, last, large, to, ro, true) == stage2_result::ok);
  REQUIRE(mmu::map(port, s2, last + small, small, to + small, rw, true) == stage2_result::ok);
  CHECK(mmu::verify(s2) == "");
  CHECK(mmu::count_tables(s2) == s2.geometry.start_tables + 1U);
  CHECK_FALSE(mmu::get_leaf(port, s2, last).value.valid());
  CHECK(mmu::get_leaf(port, s2, last + small).value.output_base(g, level::l3) == to + small);
  REQUIRE(mmu::map(port, s2, last, large, to, rw, true) == stage2_result::ok);
  port.run_grace_period();
  CHECK(mmu::count_tables(s2) == s2.geometry.start_tables);
  REQUIRE(mmu::split(port, s2, last, large) == stage2_result::ok);
  CHECK(mmu::get_leaf(port, s2, last + large - small).value ==
        mmu::make_stage2_leaf(to + large - small, level::l3, rw));
  CHECK(s2.follow(mmu::descriptor{s2.start_entry(last).in_memory()})->refs == 1 + g.entries());
  mmu::unmap(port, s2, last, large);
  CHECK(mmu::verify(s2) == "");
  CHECK(memory.live_pages() == s2.geometry.start_tables);
}

TEST_CASE("verify finds what is planted") {
  fixture f(mmu::linux_6_12_policy());
  REQUIRE(mmu::map(f.port, f.s2, base, page, target, rw, true) == stage2_result::ok);
  const entry_ref e = mmu::get_leaf(f.port, f.s2, base).entry;
  const descriptor good = e.in_memory();
  REQUIRE(mmu::verify(f.s2) == "");
  e.in_memory() = mmu::locked_descriptor;
  CHECK(mmu::verify(f.s2).find("locked") != std::string::npos);
  e.in_memory() = descriptor{};
  CHECK(mmu::verify(f.s2).find("page count") != std::string::npos);
  e.in_memory() = descriptor{good.raw() & ~2ULL};
  CHECK(mmu::verify(f.s2).find("reserved") != std::string::npos);
  e.in_memory() = good;
  e.table->state = mmu::table_state::detached;
  CHECK(mmu::verify(f.s2).find("not live") != std::string::npos);
  e.table->state = mmu::table_state::live;
  e.table->lvl = level::l2;
  CHECK(mmu::verify(f.s2).find("wrong level") != std::string::npos);
  e.table->lvl = level::l3;
  CHECK(mmu::verify(f.s2) == "");
}

TEST_CASE("access flags are tested, cleared and set") {
  fixture f(mmu::linux_6_12_policy());
  REQUIRE(mmu::map(f.port, f.s2, base, page, target, rw, true) == stage2_result::ok);
  CHECK(mmu::test_clear_young(f.port, f.s2, base, block, false));
  CHECK(mmu::test_clear_young(f.port, f.s2, base, block, true));
  CHECK_FALSE(mmu::test_clear_young(f.port, f.s2, base, block, true));
  CHECK_FALSE(mmu::get_leaf(f.port, f.s2, base).value.accessed());
  CHECK(mmu::mkyoung(f.port, f.s2, base, true) == stage2_result::ok);
  CHECK(mmu::get_leaf(f.port, f.s2, base).value.accessed());
  CHECK(mmu::mkyoung(f.port, f.s2, base + page, true) == stage2_result::again);
}
