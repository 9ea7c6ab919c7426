// SPDX-License-Identifier: Apache-2.0
// Checkers of translations and tables on the real fault path: a planted bug that each finds, and
// clean kernels that it passes, explored and timed.
#include "sim/check/break_before_make.hpp"
#include "sim/check/stale_translation.hpp"
#include "sim/check/table_references.hpp"
#include "sim/check/violation.hpp"
#include "sim/check/watch_list.hpp"
#include "tests/check/one_block.hpp"

using namespace one_block;
using Catch::Matchers::Contains;

namespace {

constexpr engine::ipa base{0x40000000};
constexpr std::uint64_t blocks_pages = 512;

/// One page of a table that a test writes by hand.
struct fake_tables {
  check::page_view view;
  [[nodiscard]] check::page_window window() const {
    return {base, engine::kibibytes(4), [this](engine::ipa) { return view; }};
  }
  static check::page_view page(std::uint64_t to, engine::bytes leaf, bool writable = true) {
    return {true, engine::pa{to}, leaf, true, writable};
  }
};

/// Runs `body` as the only thread of an engine.
template <class F>
void alone(F body) {
  engine::engine e;
  e.spawn("t", engine::sim_time{}, body);
  e.run();
}

constexpr engine::bytes small = engine::kibibytes(4);
constexpr engine::bytes large = engine::mebibytes(2);
constexpr engine::invalidation of_page{base, engine::bytes{1}, false, true};

template <class Checker>
void flush(Checker& c, const engine::thread& t, const engine::invalidation& i = of_page) {
  c.invalidation_issued(t, i);
  c.invalidation_completed(t, i);
}

}  // namespace

TEST_CASE("break-before-make by hand") {
  fake_tables tables;
  check::break_before_make checker(tables.window());
  alone([&](engine::thread& t) {
    const auto set = [&](const check::page_view& v) {
      tables.view = v;
      checker.entry_changed(t, base, small);
    };
    set(fake_tables::page(0x1000, small, false));
    set(fake_tables::page(0x1000, small, true));  // permissions may change in place
    CHECK_THROWS_WITH(set(fake_tables::page(0x2000, small)), Contains("without a break"));
    set(fake_tables::page(0x1000, small));
    CHECK_THROWS_WITH(set(fake_tables::page(0x1000, large)), Contains("without a break"));

    set(fake_tables::page(0x1000, small));
    set({});
    CHECK_THROWS_WITH(set(fake_tables::page(0x2000, small)), Contains("on every core"));
    set(fake_tables::page(0x1000, small));
    set({});
    set(fake_tables::page(0x1000, small));  // the same translation comes back: no harm
    set({});
    flush(checker, t);
    set(fake_tables::page(0x2000, small));
    CHECK(checker.replacements() == 1);

    // Issued before the break: it may have passed before.
    checker.invalidation_issued(t, of_page);
    set({});
    checker.invalidation_completed(t, of_page);
    CHECK_THROWS_WITH(set(fake_tables::page(0x3000, small)), Contains("on every core"));
    set(fake_tables::page(0x2000, small));
    set({});
    flush(checker, t, {base, engine::bytes{1}, false, false});  // on one core only
    CHECK_THROWS_WITH(set(fake_tables::page(0x3000, small)), Contains("on every core"));
    set(fake_tables::page(0x2000, small));
    set({});
    flush(checker, t, {base + small, engine::bytes{1}, false, true});  // elsewhere
    CHECK_THROWS_WITH(set(fake_tables::page(0x3000, small)), Contains("on every core"));
    set(fake_tables::page(0x2000, small));
    set({});
    flush(checker, t, {{}, {}, true, true});
    set(fake_tables::page(0x3000, large));
  });
}

TEST_CASE("stale translations by hand") {
  fake_tables tables;
  check::stale_translation checker(tables.window());
  alone([&](engine::thread& t) {
    const auto set = [&](const check::page_view& v) {
      tables.view = v;
      checker.entry_changed(t, base, small);
    };
    const engine::translation_use write{base, engine::pa{0x1000}, true, true};
    const engine::translation_use read{base, engine::pa{0x1000}, false, true};
    CHECK_THROWS_WITH(checker.translated(t, read), Contains("the tables say nothing"));
    set(fake_tables::page(0x1000, small));
    checker.translated(t, write);
    set(fake_tables::page(0x1000, small, false));
    checker.translated(t, write);  // no flush yet
    CHECK(checker.late_uses() == 1);
    flush(checker, t);
    checker.translated(t, read);
    CHECK_THROWS_WITH(checker.translated(t, write),
                      Contains("writes 0x40000000 through a TLB entry"));
    // A change after the issue is not covered.
    checker.invalidation_issued(t, of_page);
    set({});
    checker.invalidation_completed(t, of_page);
    checker.translated(t, read);
    flush(checker, t);
    CHECK_THROWS_AS(checker.translated(t, read), check::violation);
    checker.translated(t, {base + small, engine::pa{0x9000}, true, true});  // not watched
  });
}

TEST_CASE("the fault path replaces translations in order, uses none that is gone, counts right") {
  mmu::table_memory memory(mmu::granule_4k);
  for (const std::string& kernel : kernels) {
    CAPTURE(kernel);
    std::uint64_t replaced = 0, late = 0, counted = 0;
    for (unsigned seed = 0; seed <= 24; ++seed) {
      CAPTURE(seed);
      // Seed 0 runs by the clock.
      const auto chooser = seed == 0 ? nullptr : explorer(seed);
      world w(simulate::one_block(kernel), memory, chooser.get());
      check::break_before_make order(w.window());
      check::stale_translation stale(w.window());
      check::table_references references([&] { return mmu::verify(w.session.vm->tables()); });
      check::watch_list all({&order, &stale, &references});
      w.session.engine.observe(&all);
      CHECK_NOTHROW(w.run());
      replaced += order.replacements();
      late += stale.late_uses();
      counted += references.counted();
    }
    // Pages become a block and pages again: at least those of one pass in every run.
    CHECK(replaced >= 25 * blocks_pages / stride);
    CHECK(late > 0);
    CHECK(counted >= 25 * 2 * blocks_pages / stride);
  }
}

TEST_CASE("TLBIs that stay on their core are found by both translation checkers") {
  mmu::table_memory memory(mmu::granule_4k);
  for (const bool explored : {true, false})
    for (const std::string& kernel : kernels) {
      CAPTURE(kernel, explored);
      const auto planted = simulate::one_block(kernel, {"hypervisor.tlbi_scope=local"});
      const auto found = [&](auto make) {
        for (unsigned seed = 1; seed <= 20; ++seed) {
          const auto chooser = explored ? explorer(seed) : nullptr;
          world w(planted, memory, chooser.get());
          auto checker = make(w.window());
          w.session.engine.observe(&checker);
          try {
            w.run();
          } catch (const check::violation& v) {
            return std::string(v.what());
          }
        }
        return std::string("nothing");
      };
      CHECK_THAT(found([](auto window) { return check::break_before_make(std::move(window)); }),
                 Contains("before a TLBI has completed on every core"));
      CHECK_THAT(found([](auto window) { return check::stale_translation(std::move(window)); }),
                 Contains("stale translation"));
    }
}

TEST_CASE("a reference to a table that is never dropped is found, and one that is dropped twice") {
  mmu::table_memory memory(mmu::granule_4k);
  for (const bool explored : {true, false})
    for (const bool leak : {true, false}) {
      CAPTURE(explored, leak);
      const auto chooser = explored ? explorer(1) : nullptr;
      world w(simulate::one_block("linux-6.2"), memory, chooser.get());
      check::table_references references([&] { return mmu::verify(w.session.vm->tables()); });
      w.session.engine.observe(&references);
      bool done = false;
      w.session.vm->on_abort = [&](const vcpu::vcpu&, const vcpu::fault_registers&,
                                   engine::ipa at) {
        mmu::table_page* t = mmu::peek_l3_table(w.session.vm->tables(), at);
        // A table of slot 0: nothing else takes it away.
        if (done || t == nullptr || at >= w.session.test_ipa) return;
        done = true;
        if (leak) {
          memory.get(t);
        } else {
          memory.put(t);
        }
      };
      CHECK_THROWS_WITH(w.run(), Contains("table references: page count"));
      CHECK(done);
    }
}
