// SPDX-License-Identifier: Apache-2.0
// Two vCPUs on one 2 MiB block, and the ioctls and notifiers of the main thread meanwhile: every
// operation on stage-2 tables meets every other, under a chooser or by the clock.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "guest_workloads/session.hpp"
#include "sim/check/explorers.hpp"
#include "sim/hypervisor/table_view.hpp"
#include "tests/hypervisor/simulate.hpp"

namespace one_block {

using namespace hvsim;
using simulate::words;

inline constexpr std::uint64_t page = 4096;
inline constexpr std::uint64_t stride = 32;  // pages between two accesses

inline const std::vector<std::string> kernels{
    "linux-5.17", "linux-6.1", "linux-5.18-rc2+parallel-rfc", "linux-6.2", "linux-6.12"};

inline std::unique_ptr<engine::chooser> explorer(unsigned seed) {
  if (seed % 4 == 3) return std::make_unique<check::pct_explorer>(seed, 3, 30'000);
  return std::make_unique<check::random_explorer>(seed, seed % 4 == 0 ? 1 : 40);
}

/// A session whose guest exists and whose main thread has not begun: checkers are attached to
/// `session.engine` and look at `window`.
struct world {
  world(const hvsim::scenario::scenario& s, mmu::table_memory& memory, engine::chooser* chooser)
      : session(s, memory, chooser) {
    session.build_guest(engine::mebibytes(1), true, host::backing::anonymous_thp, 1);
    session.vm->tables_may_vanish = true;
  }
  [[nodiscard]] check::page_window window() const {
    return {session.test_ipa, session.test_size, hypervisor::table_reader_of(session.vm->tables())};
  }

  /// Logging on from the start, fetched, off, unmapping, on again: each in the middle of a pass.
  void run() {
    session.run([&](workloads::session& ss) {
      ss.vm->enable_logging(ss.main, 1, false);
      ss.start_vcpus([&](workloads::session& s, vcpu::vcpu& v) { passes(s, v); });
      rounds.wait_all(ss);
      beside_a_pass(ss, [&] {
        for (int i = 0; i < 2; ++i) (void)ss.vm->get_dirty_log(ss.main, 1, false);
      });
      beside_a_pass(ss, [&] { ss.vm->disable_logging(ss.main, 1); });
      beside_a_pass(ss, [&] { unmap_half(ss); });
      beside_a_pass(ss, [&] {
        ss.vm->enable_logging(ss.main, 1, false);
        (void)ss.vm->get_dirty_log(ss.main, 1, false);
      });
      rounds.quit(ss);
    });
  }

  workloads::session session;
  workloads::rounds rounds{2};

 private:
  /// In each pass pages that were never written before, and the same ones again.
  void passes(workloads::session& s, vcpu::vcpu& v) {
    std::uint64_t pass = 0;
    rounds.arrive(*v.cpu.thread);
    do {
      for (std::uint64_t p = 0; p < s.test_size.value(); p += stride * page)
        for (const std::uint64_t also : {std::uint64_t{0}, pass})
          v.access(workloads::selftest_guest::test_va + engine::bytes{p + also % stride * page},
                   mmu::access_kind::write);
      ++pass;
    } while (rounds.next(*v.cpu.thread));
  }
  template <class F>
  void beside_a_pass(workloads::session& ss, F&& f) {
    rounds.release(ss);
    ss.main.thread->advance(engine::part::idle, engine::microseconds(10));
    for (int i = 0; i < 40; ++i) ss.main.thread->sync();
    f();
    rounds.wait_all(ss);
  }
  /// As the kernel does it: under mmap_lock.
  static void unmap_half(workloads::session& ss) {
    sync::rwsem& lock = ss.mm.mmap_lock();
    lock.down_write(ss.main);
    ss.vm->notifier_unmap(ss.main, ss.vm->slot(1)->host, engine::bytes{ss.test_size.value() / 2});
    lock.up_write(ss.main);
  }
};

}  // namespace one_block
