// SPDX-License-Identifier: Apache-2.0
// The fault path with a chooser deciding who moves at every shared access: the code that timed runs
// measure, under orders that virtual time does not produce.
#include <catch2/catch.hpp>

#include <memory>
#include <optional>

#include "guest_workloads/workload.hpp"
#include "sim/check/dirty_ledger.hpp"
#include "sim/check/explorers.hpp"
#include "tests/hypervisor/simulate.hpp"

using namespace hvsim;
using simulate::words;

namespace {

constexpr std::uint64_t page = 4096;

const std::vector<std::string> parallel_kernels{"linux-5.18-rc2+parallel-rfc", "linux-6.2",
                                                "linux-6.12"};

using simulate::one_block;

std::unique_ptr<engine::chooser> explorer(unsigned seed) {
  if (seed % 4 == 3) return std::make_unique<check::pct_explorer>(seed, 3, 60'000);
  return std::make_unique<check::random_explorer>(seed, seed % 4 == 0 ? 1 : 40);
}

struct finding {
  bool freed_table_used = false;
  std::string tables;  ///< what mmu::verify says
  std::uint64_t collapses = 0;
};

std::uint64_t block_maps(const workloads::session& s) {
  for (const auto& [name, n] : s.vm->counts().named())
    if (name == "event s2_map 0x200000") return n;
  return 0;
}

/// Both vCPUs write every 16th page of the block, over and over. Logging goes on, splits the block
/// and goes off again in the middle of a pass: a vCPU that still believes in it walks to its page
/// while the other one collapses the block. `moment` (from 0) says how late in the pass.
finding switch_off_mid_pass(const scenario::scenario& s, mmu::table_memory& memory,
                            engine::chooser* chooser, unsigned moment) {
  finding f;
  workloads::session session(s, memory, chooser);
  session.build_guest(engine::mebibytes(1), true, host::backing::anonymous_thp, 1);
  workloads::rounds rounds(2);
  engine::random_stream random(moment, 99);
  const auto body = [&](workloads::session& ss, vcpu::vcpu& v) {
    rounds.arrive(*v.cpu.thread);
    do {
      for (std::uint64_t p = 0; p < ss.test_size.value(); p += 16 * page)
        v.access(workloads::selftest_guest::test_va + engine::bytes{p}, mmu::access_kind::write);
    } while (rounds.next(*v.cpu.thread));
  };
  const auto pass = [&](workloads::session& ss) {
    rounds.release(ss);
    rounds.wait_all(ss);
  };
  try {
    session.run([&](workloads::session& ss) {
      engine::thread& t = *ss.main.thread;
      ss.start_vcpus(body);
      rounds.wait_all(ss);
      for (int i = 0; i < 8; ++i) {
        ss.vm->enable_logging(ss.main, 1, false);
        pass(ss);
        (void)ss.vm->get_dirty_log(ss.main, 1, false);
        rounds.release(ss);
        if (chooser != nullptr) {
          for (std::uint64_t n = random.below(400); n != 0; --n) t.sync();
        } else {
          t.advance(engine::part::idle,
                    engine::nanoseconds(100) * static_cast<std::int64_t>(1 + random.below(400)));
          t.sync();
        }
        ss.vm->disable_logging(ss.main, 1);
        rounds.wait_all(ss);
        pass(ss);
      }
      rounds.quit(ss);
    });
    f.tables = mmu::verify(session.vm->tables());
    f.collapses = block_maps(session) - 1;
  } catch (const mmu::table_error&) {
    f.freed_table_used = true;
  }
  return f;
}

}  // namespace

TEST_CASE("exploring finds a table that is freed without RCU, timed runs do not") {
  mmu::table_memory memory(mmu::granule_4k);
  for (const std::string& kernel : parallel_kernels) {
    CAPTURE(kernel);
    const auto planted = one_block(kernel, {"hypervisor.free_without_rcu=true"});
    unsigned found_at = 0;
    for (unsigned seed = 1; seed <= 3000 && found_at == 0; ++seed) {
      check::random_explorer chooser(seed, 40);
      if (switch_off_mid_pass(planted, memory, &chooser, seed).freed_table_used) found_at = seed;
    }
    UNSCOPED_INFO("found with seed " << found_at);
    CHECK(found_at != 0);

    for (unsigned seed = 1; seed <= 10; ++seed)
      for (const char* machine : {"altra-64", "unit"}) {
        CAPTURE(machine, seed);
        const auto timed =
            one_block(kernel, {"hypervisor.free_without_rcu=true", "seed=" + std::to_string(seed),
                               std::string("machine=") + machine});
        const finding f = switch_off_mid_pass(timed, memory, nullptr, seed);
        CHECK_FALSE(f.freed_table_used);
        CHECK(f.collapses >= 8);
      }
  }
}

TEST_CASE("exploring the fault path finds nothing in kernels that free tables with RCU") {
  mmu::table_memory memory(mmu::granule_4k);
  for (const std::string& kernel : parallel_kernels) {
    CAPTURE(kernel);
    const auto s = one_block(kernel);
    std::uint64_t collapses = 0;
    for (unsigned seed = 1; seed <= 200; ++seed) {
      CAPTURE(seed);
      const auto chooser = explorer(seed);
      const finding f = switch_off_mid_pass(s, memory, chooser.get(), seed);
      CHECK_FALSE(f.freed_table_used);
      CHECK(f.tables == "");
      collapses += f.collapses;
    }
    // Eight times logging goes off; the block comes back unless the pass was over by then.
    CHECK(collapses > 200);
  }
}

TEST_CASE("the workload itself runs under exploring") {
  mmu::table_memory memory(mmu::granule_4k);
  for (const std::string& kernel : parallel_kernels) {
    CAPTURE(kernel);
    const auto s = one_block(kernel);
    for (unsigned seed = 1; seed <= 20; ++seed) {
      CAPTURE(seed);
      const auto chooser = explorer(seed);
      workloads::session session(s, memory, chooser.get());
      for (const auto& w : workloads::register_builtin_workloads())
        if (w.info.name == s.workload) w.run(session);
      CHECK(mmu::verify(session.vm->tables()) == "");
      // The block comes back after logging is off: once mapped, at least once collapsed.
      CHECK(block_maps(session) >= 2);
      CHECK(session.vcpus[0]->accesses >= 4 * 512);
    }
  }
}

namespace {

/// Two vCPUs write every 8th page twice while the main thread fetches the log (and clears it in
/// manual mode) over and over. What is owed at the end is lost.
std::vector<std::uint64_t> lost_pages(const std::string& kernel, bool manual,
                                      mmu::table_memory& memory, engine::chooser* chooser,
                                      const words& planted = {}) {
  const auto s = one_block(kernel, planted);
  workloads::session session(s, memory, chooser);
  session.build_guest(engine::mebibytes(1), true, host::backing::anonymous_thp, 1);
  check::dirty_ledger ledger(session.test_size.value() / page);
  workloads::rounds rounds(2);
  bool logging = false;
  const auto body = [&](workloads::session& ss, vcpu::vcpu& v) {
    rounds.arrive(*v.cpu.thread);
    do {
      for (std::uint64_t p = 0; p < ss.test_size.value() / page; p += 8) {
        v.access(workloads::selftest_guest::test_va + engine::bytes{p * page},
                 mmu::access_kind::write);
        if (logging) ledger.wrote(p);
      }
    } while (rounds.next(*v.cpu.thread));
  };
  std::uint64_t pages_reported = 0;
  session.run([&](workloads::session& ss) {
    ss.start_vcpus(body);
    rounds.wait_all(ss);
    ss.vm->enable_logging(ss.main, 1, manual);
    const auto fetch = [&] {
      pages_reported += ss.vm->get_dirty_log(ss.main, 1, manual);
      if (manual) ss.vm->clear_dirty_log(ss.main, 1, true);
      ledger.reported([&](std::uint64_t p) {
        return (ss.vm->slot(1)->dirty.fetched(p / 64) >> (p % 64) & 1) != 0;
      });
    };
    // Manual mode starts with every bit set and nothing protected: that report is no finding.
    fetch();
    logging = true;
    for (int pass = 0; pass < 2; ++pass) {
      rounds.release(ss);
      for (int i = 0; i < 4; ++i) fetch();
      rounds.wait_all(ss);
    }
    fetch();
    rounds.quit(ss);
  });
  CHECK(mmu::verify(session.vm->tables()) == "");
  if (planted.empty()) CHECK(pages_reported >= 64);
  return ledger.owed();
}

}  // namespace

TEST_CASE("no dirty page is lost while the log is fetched under running vCPUs") {
  mmu::table_memory memory(mmu::granule_4k);
  auto kernels = parallel_kernels;
  kernels.insert(kernels.end(), {"linux-5.17", "linux-5.18-rc2", "linux-6.1"});
  for (const std::string& kernel : kernels)
    for (const bool manual : {false, true}) {
      CAPTURE(kernel, manual);
      for (unsigned seed = 1; seed <= 40; ++seed) {
        CAPTURE(seed);
        const auto chooser = explorer(seed);
        CHECK(lost_pages(kernel, manual, memory, chooser.get()).empty());
      }
      CHECK(lost_pages(kernel, manual, memory, nullptr).empty());
    }
}

TEST_CASE("dirty pages that are lost because a flush reaches nobody are found") {
  mmu::table_memory memory(mmu::granule_4k);
  for (const char* kernel : {"linux-5.17", "linux-6.12"})
    for (const bool manual : {false, true}) {
      CAPTURE(kernel, manual);
      const auto chooser = explorer(1);
      const words planted{"hypervisor.tlbi_scope=local"};
      CHECK_FALSE(lost_pages(kernel, manual, memory, chooser.get(), planted).empty());
      CHECK_FALSE(lost_pages(kernel, manual, memory, nullptr, planted).empty());
    }
}
