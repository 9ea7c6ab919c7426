// SPDX-License-Identifier: Apache-2.0
// Checked builds notice a thread that runs ahead of its right, and wrong declarations of privacy.
#include "sim/access/privacy.hpp"
#include "tests/check/one_block.hpp"

using namespace hvsim;
using access::object;
using access::order_violation;
using access::use;
using Catch::Matchers::Contains;
using engine::part;
using engine::thread;

namespace {

constexpr engine::ipa base{0x40000000};
constexpr engine::bytes chunk = engine::mebibytes(2);
constexpr std::size_t watched = 0;        // number of the chunk at `base`
constexpr std::uint16_t nobody = 0xfffe;  // owner of a shared chunk

/// A thread that moves its clock to `at` ps, syncs if told to, and does one thing.
template <class F>
auto step(std::int64_t at, bool sync, F&& f) {
  return [=](thread& t) {
    t.advance_to(part::guest, engine::sim_time{at});
    if (sync) t.sync();
    f(t);
  };
}

}  // namespace

TEST_CASE("an access to what is shared needs a sync") {
  for (const bool synced : {true, false}) {
    access::order_ledger ledger;
    ledger.reset(1);
    engine::engine e;
    const auto touch = [&](const thread& t) {
      ledger.touch(t, object::descriptor, use::write, base, watched, nobody);
    };
    e.spawn("a", engine::sim_time{}, step(200, synced, touch));
    e.spawn("b", engine::sim_time{}, step(100, true, touch));
    if (synced) {
      CHECK_NOTHROW(e.run());
    } else {
      CHECK_THROWS_WITH(e.run(),
                        "a at 200 ps touches a stage-2 descriptor of 0x40000000 without a sync: b "
                        "can act at 0 ps");
    }
  }
}

TEST_CASE("a private chunk is its owner's, and an ioctl's while the owner waits") {
  const auto run = [](bool stranger_is_vcpu, bool owner_parks) {
    access::order_ledger ledger;
    ledger.reset(1);
    engine::engine e;
    const auto touch = [&](const thread& t) {
      ledger.touch(t, object::dirty_bitmap, use::write, base, watched, 0);
    };
    thread& owner = e.spawn("vcpu0", engine::sim_time{}, [&](thread& t) {
      t.advance(part::guest, engine::duration{500});
      touch(t);  // runs ahead: that is its right
      if (owner_parks) t.park(part::idle, "the next iteration");
    });
    ledger.bind(0, owner);
    thread& other = e.spawn("other", engine::sim_time{600}, [&](thread& t) {
      t.sync();
      touch(t);
      if (engine::engine::parked(owner)) e.wake(owner, t.now());
    });
    if (stranger_is_vcpu) ledger.bind(1, other);
    e.run();
  };
  CHECK_NOTHROW(run(false, true));
  CHECK_NOTHROW(run(false, false));  // the owner has ended
  CHECK_THROWS_WITH(run(true, true),
                    "other at 600 ps touches the dirty bitmap of 0x40000000, which is declared "
                    "private to vcpu0, at 500 ps");
}

TEST_CASE("clocks do not go backwards from one thread to another in a chunk") {
  access::order_ledger ledger;
  ledger.reset(1);
  engine::engine e;
  thread& owner = e.spawn("vcpu0", engine::sim_time{}, step(500, false, [&](const thread& t) {
                            ledger.touch(t, object::page_reference, use::write, base, watched, 0);
                          }));
  ledger.bind(0, owner);
  // The chunk is declared shared behind the owner's back.
  e.spawn("main", engine::sim_time{}, step(100, true, [&](const thread& t) {
            ledger.touch(t, object::descriptor, use::read, base, watched, nobody);
          }));
  CHECK_THROWS_WITH(e.run(),
                    "main at 100 ps touches a stage-2 descriptor of 0x40000000 after vcpu0 has "
                    "touched the reference count of the page there at 500 ps");
}

TEST_CASE("an upper table that was read ahead must not go before that") {
  for (const std::int64_t removed_at : {100, 300}) {
    access::order_ledger ledger;
    ledger.reset(1);
    engine::engine e;
    const int entry = 0;
    e.spawn("a", engine::sim_time{},
            step(200, false, [&](const thread& t) { ledger.read_ahead(t, &entry); }));
    e.spawn("b", engine::sim_time{},
            step(removed_at, true, [&](const thread& t) { ledger.remove(t, &entry, base); }));
    if (removed_at < 200) {
      CHECK_THROWS_WITH(e.run(), Contains("b at 100 ps") && Contains("a has touched"));
    } else {
      CHECK_NOTHROW(e.run());
    }
  }
}

TEST_CASE("translations run ahead by less than a TLBI takes") {
  for (const std::int64_t ahead : {50, 51}) {
    access::order_ledger ledger;
    engine::engine e;
    e.spawn("a", engine::sim_time{}, step(100 + ahead, false, [&](const thread& t) {
              ledger.translate(t, engine::duration{50});
            }));
    e.spawn("b", engine::sim_time{100}, [](thread&) {});
    if (ahead > 50) {
      CHECK_THROWS_WITH(e.run(), "a at 151 ps translates without a sync: b can act at 100 ps");
    } else {
      CHECK_NOTHROW(e.run());
    }
  }
}

namespace {

/// Two vCPUs with 2 MiB each write every page of theirs; `plant` spoils something beforehand.
template <class Plant, class Main>
void two_chunks(mmu::table_memory& memory, Plant plant, Main main) {
  const auto s = simulate::scenario({"vm.vcpus=2", "hypervisor.kernel=linux-6.2"});
  workloads::session session(s, memory);
  session.build_guest(chunk, false, host::backing::anonymous_thp, 1);
  workloads::rounds rounds(2);
  plant(session);
  session.run([&](workloads::session& ss) {
    ss.start_vcpus([&](workloads::session& in, vcpu::vcpu& v) {
      rounds.arrive(*v.cpu.thread);
      do {
        const engine::gva begin = in.range_begin(v.id().value());
        for (std::uint64_t p = 0; p < chunk.value(); p += one_block::page)
          v.access(begin + engine::bytes{p}, mmu::access_kind::write);
      } while (rounds.next(*v.cpu.thread));
    });
    rounds.wait_all(ss);
    ss.vm->enable_logging(ss.main, 1, false);
    rounds.release(ss);
    main(ss);
    rounds.wait_all(ss);
    (void)ss.vm->get_dirty_log(ss.main, 1, false);
    rounds.release(ss);
    rounds.wait_all(ss);
    rounds.quit(ss);
  });
}

/// Throws in a checked build, and says so with `message`; runs through in others.
template <class Plant, class Main>
void check_found(Plant plant, Main main, const std::string& message) {
  mmu::table_memory memory(mmu::granule_4k);
  if constexpr (access::privacy_map::checked) {
    CHECK_THROWS_WITH(two_chunks(memory, plant, main), Contains(message));
  } else {
    CHECK_NOTHROW(two_chunks(memory, plant, main));
  }
}

}  // namespace

TEST_CASE("the fault path keeps its declarations") {
  mmu::table_memory memory(mmu::granule_4k);
  CHECK_NOTHROW(two_chunks(
      memory, [](workloads::session&) {}, [](workloads::session&) {}));
}

TEST_CASE("a checked build notices a vCPU in a chunk that is declared another's") {
  check_found(
      [](workloads::session& s) {
        s.vm->privacy().reset(s.test_ipa, s.test_size);
        s.vm->privacy().declare(engine::vcpu_id{0}, s.test_ipa, s.test_size);
      },
      [](workloads::session&) {}, "which is declared private to vcpu0");
}

TEST_CASE("a checked build notices an ioctl that does not wait for the vCPUs") {
  check_found([](workloads::session&) {},
              [](workloads::session& ss) {
                // Some way into the pass, so that faults are under way.
                ss.main.thread->advance(part::idle, engine::microseconds(100));
                ss.main.thread->sync();
                (void)ss.vm->get_dirty_log(ss.main, 1, false);
              },
              "which is declared private to vcpu");
}
