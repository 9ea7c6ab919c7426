// SPDX-License-Identifier: Apache-2.0
// Two walkers on one tree: the second runs whole between two accesses of the first.
#include <catch2/catch.hpp>

#include "counting_port.hpp"
#include "mmu/walker.hpp"

using namespace mmu_test;

namespace {

constexpr engine::ipa at{0x4000'0000};
constexpr engine::pa to{0x1'0000'0000};

struct pair : fixture {
  using fixture::fixture;
  counting_port other{memory};
  void share() { other.s2 = &s2; }
  void settle() {
    port.run_grace_period();
    other.run_grace_period();
    CHECK(mmu::verify(s2) == "");
    CHECK(mmu::count_tables(s2) == memory.live_pages());
  }
};

const auto policies = {mmu::parallel_rfc_policy(), mmu::linux_6_2_policy(),
                       mmu::linux_6_12_policy()};

/// Prepares a tree, then runs `first` with `second` inserted before its n-th access, for every n
/// until `first` makes fewer accesses. Gives both results to `check`.
template <class Prepare, class First, class Second, class Check>
void interleave(const mmu::stage2_policy& policy, Prepare prepare, First first, Second second,
                Check check) {
  unsigned inserted = 0;
  for (std::uint64_t n = 1;; ++n) {
    pair p(policy);
    p.share();
    prepare(p.port, p.s2);
    stage2_result inner = stage2_result::ok;
    bool ran = false;
    p.port.at_access[p.port.accesses + n] = [&] {
      ran = true;
      inner = second(p.other, p.s2);
    };
    const stage2_result outer = first(p.port, p.s2);
    p.port.at_access.clear();
    p.settle();
    if (!ran) break;
    ++inserted;
    CAPTURE(n);
    check(outer, inner, p);
  }
  CHECK(inserted >= 4);
}

}  // namespace

TEST_CASE("two faults on one page: one installs, the other tries again") {
  for (const auto& policy : policies) {
    const auto map_page = [](counting_port& port, const mmu::stage2& s2) {
      return mmu::map(port, s2, at, page, to, rw, true);
    };
    interleave(
        policy,
        [&](counting_port& port, const mmu::stage2& s2) {
          REQUIRE(mmu::map(port, s2, at + page, page, to + page, rw, true) == stage2_result::ok);
        },
        map_page, map_page,
        [&](stage2_result outer, stage2_result inner, pair& p) {
          // Exactly one of them installed the page.
          CHECK((outer == stage2_result::ok) != (inner == stage2_result::ok));
          CHECK(mmu::get_leaf(p.port, p.s2, at).value == mmu::make_stage2_leaf(to, level::l3, rw));
        });
  }
}

TEST_CASE("two splits of one block allocate twice and keep one table") {
  for (const auto& policy : policies) {
    interleave(
        policy,
        [&](counting_port& port, const mmu::stage2& s2) {
          REQUIRE(mmu::map(port, s2, at, block, to, ro, true) == stage2_result::ok);
          port.counts.clear();
        },
        [](counting_port& port, const mmu::stage2& s2) {
          return mmu::map(port, s2, at, page, to, rw, true);
        },
        [](counting_port& port, const mmu::stage2& s2) {
          return mmu::map(port, s2, at + page, page, to + page, rw, true);
        },
        [&](stage2_result outer, stage2_result inner, pair& p) {
          CHECK((outer == stage2_result::ok || inner == stage2_result::ok));
          CHECK(p.port.counts["tlbi_ipa L2"] + p.other.counts["tlbi_ipa L2"] == 1);
          const auto mapped = [&](engine::ipa a) {
            return mmu::get_leaf(p.port, p.s2, a).value.valid();
          };
          if (mapped(at + page)) CHECK(inner == stage2_result::ok);
          CHECK(mmu::get_leaf(p.port, p.s2, at + block - page).entry.lvl == level::l3);
        });
  }
}

TEST_CASE("a page fault races with the collapse of its block") {
  for (const auto& policy : policies) {
    const auto prepare = [&](counting_port& port, const mmu::stage2& s2) {
      for (unsigned i = 0; i < 511; ++i)
        REQUIRE(mmu::map(port, s2, at + page * i, page, to + page * i, rw, true) ==
                stage2_result::ok);
    };
    const auto fault = [](counting_port& port, const mmu::stage2& s2) {
      return mmu::map(port, s2, at + page * 511, page, to + page * 511, rw, true);
    };
    const auto collapse = [](counting_port& port, const mmu::stage2& s2) {
      return mmu::map(port, s2, at, block, to, rw, true);
    };
    // The fault is interrupted by a whole collapse. A fault that holds the last page locked would
    // make the RFC's collapse spin, so for that flavour only accesses before its break count.
    if (policy.walker == mmu::walker_flavour::merged)
      interleave(policy, prepare, fault, collapse,
                 [&](stage2_result, stage2_result inner, pair& p) {
                   CHECK(inner == stage2_result::ok);
                   // Installed before the fault looked, or after the fault went to the old table;
                   // a fault that came later splits the block again.
                   CHECK(mmu::get_leaf(p.port, p.s2, at + page * 511).value.valid());
                 });
    interleave(policy, prepare, collapse, fault, [&](stage2_result outer, stage2_result, pair& p) {
      CHECK(outer == stage2_result::ok);
      CHECK(mmu::get_leaf(p.port, p.s2, at).value == mmu::make_stage2_leaf(to, level::l2, rw));
    });
  }
}

TEST_CASE("the RFC's collapse spins on an entry that a fault holds locked") {
  fixture f(mmu::parallel_rfc_policy());
  REQUIRE(mmu::map(f.port, f.s2, at + page, page, to + page, rw, true) == stage2_result::ok);
  const entry_ref held = mmu::get_leaf(f.port, f.s2, at).entry;
  held.in_memory() = mmu::locked_descriptor;  // the other walker broke the (empty) entry
  // Steps to the first turn of the spin: L0, L1 twice each, L2, break, then the exchange.
  unsigned turns = 0;
  for (std::uint64_t n = 1; n < 40; ++n)
    f.port.at_access[f.port.accesses + n] = [&] {
      if (f.port.counts["relax_cpu"] == 3 && turns++ == 0) {
        held.in_memory() = mmu::make_stage2_leaf(to, level::l3, rw);
        f.memory.get(held.table);
      }
    };
  CHECK(mmu::map(f.port, f.s2, at, block, to, rw, true) == stage2_result::ok);
  CHECK(f.port.counts["relax_cpu"] >= 3);
  f.port.at_access.clear();
  f.port.run_grace_period();
  CHECK(mmu::verify(f.s2) == "");
  CHECK(mmu::count_tables(f.s2) == f.memory.live_pages());
}

TEST_CASE("relax_perms against a break-before-make window") {
  for (const auto& policy : policies) {
    fixture f(policy);
    REQUIRE(mmu::map(f.port, f.s2, at, page, to, ro, true) == stage2_result::ok);
    const entry_ref e = mmu::get_leaf(f.port, f.s2, at).entry;
    e.in_memory() = mmu::locked_descriptor;
    f.phase();
    const stage2_result r = mmu::relax_perms(f.port, f.s2, at, rw, true);
    const auto c = f.phase();
    if (policy.relax_tlbi_on_eagain) {  // 6.12
      CHECK(r == stage2_result::again);
      CHECK(c == std::map<std::string, std::uint64_t>{{"tlbi_ipa_nsh unknown", 1}});
    } else if (policy.walker == mmu::walker_flavour::rfc) {
      CHECK(r == stage2_result::again);
      CHECK(c.empty());
    } else {  // 6.2 ignores invalid entries and flushes
      CHECK(r == stage2_result::ok);
      CHECK(c == std::map<std::string, std::uint64_t>{{"tlbi_ipa unknown", 1}});
    }
    CHECK(e.in_memory() == mmu::locked_descriptor);
  }
}

TEST_CASE("two relaxations of one page: a lost compare-and-swap is -EAGAIN") {
  const auto relax = [](counting_port& port, const mmu::stage2& s2) {
    return mmu::relax_perms(port, s2, at, rw, true);
  };
  for (const auto& policy : policies) {
    unsigned lost = 0;
    interleave(
        policy,
        [&](counting_port& port, const mmu::stage2& s2) {
          REQUIRE(mmu::map(port, s2, at, page, to, ro, true) == stage2_result::ok);
        },
        relax, relax,
        [&](stage2_result outer, stage2_result inner, pair& p) {
          CHECK(inner == stage2_result::ok);
          if (outer == stage2_result::again) ++lost;
          CHECK(mmu::get_leaf(p.port, p.s2, at).value == mmu::make_stage2_leaf(to, level::l3, rw));
        });
    CHECK(lost == 1);  // between its load and its compare-and-swap
  }
}

TEST_CASE("the planted bug frees a table under a walker's feet") {
  mmu::stage2_policy policy = mmu::linux_6_12_policy();
  const auto trips = [](const mmu::stage2_policy& p) {
    bool used_after_free = false;
    for (std::uint64_t n = 1; n < 16; ++n) {
      pair f(p);
      f.share();
      mmu::map(f.port, f.s2, at, page, to, rw, true);
      f.port.at_access[f.port.accesses + n] = [&] {
        mmu::map(f.other, f.s2, at, block, to, rw, true);
      };
      try {
        mmu::map(f.port, f.s2, at + page, page, to + page, rw, true);
      } catch (const mmu::table_error&) {
        used_after_free = true;
      }
    }
    return used_after_free;
  };
  CHECK_FALSE(trips(policy));
  policy.free_without_rcu = true;
  CHECK(trips(policy));
}
