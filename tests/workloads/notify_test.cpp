// SPDX-License-Identifier: Apache-2.0
// MMU notifiers beside a phase of the synthetic workload.
#include <fmt/format.h>

#include <utility>

#include "guest_workloads/synthetic.hpp"
#include "mmu/stage2.hpp"
#include "sim/check/break_before_make.hpp"
#include "sim/check/stale_translation.hpp"
#include "sim/check/table_references.hpp"
#include "sim/check/watch_list.hpp"
#include "sim/experiment/convert.hpp"
#include "sim/experiment/pool.hpp"
#include "sim/hypervisor/table_view.hpp"
#include "sim/report/render.hpp"
#include "streams.hpp"

using namespace hvsim;

namespace {

/// `more`: further keys of the file, each on lines of its own.
scenario::scenario stream(const std::string& workload, const std::string& phases,
                          const std::string& more = "machine: unit\nvm: {vcpus: 2}\n") {
  return test::good("schema_version: 1\n" + more + "workload:\n  type: synthetic\n" + workload +
                    "  phases:\n" + phases);
}

/// Faults on test memory of a kind, such as "DW trans", over the levels.
std::uint64_t faults(const report::run_result& r, const std::string& phase,
                     const std::string& kind) {
  std::uint64_t sum = 0;
  for (const char* level : {" L0", " L1", " L2", " L3"})
    sum += test::count_of(r, phase, "fault test " + kind + level);
  return sum;
}

/// Picoseconds of a part of a phase's breakdown.
std::int64_t part(const report::run_result& r, const std::string& phase, const std::string& name) {
  for (const auto& p : r.phases)
    for (const auto& b : p.breakdown)
      if (p.name == phase && b.name == name) return b.time.ps();
  return 0;
}

const std::string no_af =
    "machine: {profile: unit, features: {hw_access_flag: false}}\nvm: {vcpus: 2}\n";

// Each of two vCPUs has 1024 pages, 256 in `low`, 512 in `high`, which crosses a multiple of 2 MiB.
const std::string regions =
    "  memory: 4MiB\n  regions:\n    - {name: low, size: 1MiB}\n"
    "    - {name: high, offset: 1MiB, size: 2MiB}\n";

std::string filled(const std::string& what) {
  return "    - {name: fill, steps: [{write: 100}]}\n"
         "    - {name: beside, notify: " +
         what +
         ", notify_region: high, steps: [{region: low, write: 100}]}\n"
         "    - {name: again, steps: [{write: 100}]}\n";
}

/// All vCPUs write at random while their memory is taken away, 2 MiB each time.
scenario::scenario race(const std::string& hypervisor) {
  return stream("  memory: 8MiB\n  sharing: shared\n",
                "    - {name: fill, steps: [{write: 100}]}\n"
                "    - {name: race, repeat: 4, notify: unmap, notify_interval: 1us, steps: "
                "[{pattern: random, count: 2000, write: 100}]}\n",
                "machine: unit\nvm: {vcpus: 8}\nhypervisor: {" + hypervisor + "}\n");
}

/// Faults about which nothing was done: a notifier overtook them.
std::uint64_t retries(const report::run_result& r, const std::string& phase) {
  std::uint64_t all = 0, done = 0;
  for (const auto& p : r.phases)
    for (const auto& c : p.counts) {
      if (p.name != phase) continue;
      if (c.name.rfind("fault test DW trans", 0) == 0) all += c.value;
      if (c.name.rfind("action [test DW trans", 0) == 0) done += c.value;
    }
  return all - done;
}

}  // namespace

TEST_CASE("what a notifier unmaps faults once more", "[notify]") {
  for (const char* kernel : {"linux-5.17", "linux-6.1", "linux-6.12"}) {
    CAPTURE(kernel);
    const auto r = experiment::run(stream(
        regions, filled("unmap"),
        fmt::format("machine: unit\nvm: {{vcpus: 2}}\nhypervisor: {{kernel: {}}}\n", kernel)));
    CHECK(faults(r, "fill", "DW trans") == 2048);
    // From 1 to 2 MiB and from 2 to 3 MiB, of each vCPU.
    CHECK(test::count_of(r, "beside", "event unmap_gfn") == 4);
    CHECK(faults(r, "beside", "DW trans") == 0);
    CHECK(faults(r, "again", "DW trans") == 1024);
    CHECK(test::count_of(r, "again", "event unmap_gfn") == 0);
    // The host keeps its pages.
    CHECK(part(r, "fill", "zeroing") > 0);
    CHECK(part(r, "again", "zeroing") == 0);
  }
}

TEST_CASE("a notifier unmaps the blocks that it touches", "[notify]") {
  // From 1 to 3 MiB: two blocks of each vCPU, which are mapped again. `low` is in one of them, so
  // that this may be beside the notifiers.
  const auto r = experiment::run(stream("  backing: anonymous_thp\n" + regions, filled("unmap")));
  CHECK(test::count_of(r, "fill", "event s2_map 0x200000") == 4);
  CHECK(test::count_of(r, "beside", "event s2_map 0x200000") +
            test::count_of(r, "again", "event s2_map 0x200000") ==
        4);
}

TEST_CASE("what reclaim aged takes an access flag fault where hardware sets no flag", "[notify]") {
  for (const char* side : {"write", "read"}) {
    CAPTURE(side);
    const auto r = experiment::run(
        stream(regions, filled("age"), no_af + "hypervisor: {access_fault_side: " + side + "}\n"));
    // Each page was young and is flushed on its own: the flag was set when it was mapped.
    CHECK(test::count_of(r, "beside", "event tlbi_vmid") == 1024);
    CHECK(test::count_of(r, "beside", "event unmap_gfn") == 0);
    CHECK(test::count_of(r, "again", "fault test DW access L3") == 1024);
    CHECK(faults(r, "again", "DW trans") == 0);
  }
}

TEST_CASE("vCPUs queue for access flag faults unless they share mmu_lock", "[notify]") {
  const auto waits = [](const std::string& side) {
    const auto r = experiment::run(
        stream(regions, filled("age"), no_af + "hypervisor: {access_fault_side: " + side + "}\n"));
    return std::pair{part(r, "again", "mmu_lock_wait"), r.fingerprint};
  };
  const auto exclusive = waits("write");
  const auto shared = waits("read");
  CHECK(exclusive.first > 0);
  CHECK(shared.first == 0);
  CHECK(exclusive.second != shared.second);
}

TEST_CASE("where hardware sets the access flag nobody faults, and old pages need no flush",
          "[notify]") {
  const auto r = experiment::run(
      stream(regions,
             "    - {name: fill, steps: [{write: 100}]}\n"
             "    - {name: age, repeat: 2, notify: age, notify_region: high, steps: "
             "[{region: low}]}\n"
             "    - {name: use, steps: [{region: high}]}\n"
             "    - {name: last, notify: age, notify_region: high, steps: [{region: low}]}\n"));
  CHECK(test::count_of(r, "age1", "event tlbi_vmid") == 1024);
  CHECK(test::count_of(r, "age2", "event tlbi_vmid") == 0);
  CHECK(faults(r, "use", "DR access") == 0);
  CHECK(test::count_of(r, "last", "event tlbi_vmid") == 1024);
}

TEST_CASE("what appeared beside a phase is aged in it", "[notify]") {
  // A second is time enough for both vCPUs to touch their 1024 pages for the first time.
  const auto r = experiment::run(stream("  memory: 4MiB\n",
                                        "    - {name: a, notify: age, notify_interval: 1s, steps: "
                                        "[{write: 100}]}\n"));
  CHECK(test::count_of(r, "a", "event tlbi_vmid") == 2048);
}

TEST_CASE("a huge host page is aged as one", "[notify]") {
  const auto r =
      experiment::run(stream("  backing: anonymous_thp\n" + regions, filled("age"), no_af));
  // Two blocks of each vCPU.
  CHECK(test::count_of(r, "beside", "event tlbi_vmid") == 4);
  CHECK(test::count_of(r, "beside", "fault test DW access L2") +
            test::count_of(r, "again", "fault test DW access L2") ==
        4);
}

TEST_CASE("the interval passes before each chunk", "[notify]") {
  const auto time = [](const char* interval) {
    const auto r = experiment::run(
        stream("  memory: 8MiB\n",
               fmt::format(
                   "    - {{name: p, notify: unmap, notify_interval: {}, steps: [{{count: 1}}]}}\n",
                   interval)));
    CHECK(test::count_of(r, "p", "event unmap_gfn") == 8);
    return report::find_time(r, "p")->ps();
  };
  // Eight chunks of two vCPUs with 8 MiB each; the accesses end within the first interval.
  CHECK(time("2ms") - time("1ms") == engine::milliseconds(8).ps());
}

TEST_CASE("faults that a notifier overtakes are taken again", "[notify]") {
  // 32 blocks go one after the other, four times, while eight vCPUs touch one now and then.
  const auto overtaken = [](const std::string& seq) {
    return experiment::run(
        stream("  memory: 64MiB\n  sharing: shared\n  backing: anonymous_thp\n",
               "    - {name: fill, steps: [{write: 100}]}\n"
               "    - {name: race, repeat: 4, notify: unmap, notify_interval: 1us, steps: "
               "[{pattern: random, count: 5000, write: 100, think: 3us}]}\n",
               "machine: {profile: unit, costs: {vma_lookup: 500ns}}\nvm: {vcpus: 8}\n"
               "hypervisor: {notifier_seq: " +
                   seq + "}\n"));
  };
  const auto before = overtaken("before_unlock");
  const auto after = overtaken("after_unlock");
  for (const char* phase : {"race1", "race2", "race3", "race4"})
    CHECK(test::count_of(before, phase, "event unmap_gfn") == 32);
  // Who reads the sequence later is overtaken by fewer notifiers.
  const auto all = [](const report::run_result& r) {
    return retries(r, "race1") + retries(r, "race2") + retries(r, "race3") + retries(r, "race4");
  };
  CHECK(all(after) > 0);
  CHECK(all(before) > all(after));
  CHECK(before.fingerprint != after.fingerprint);
}

TEST_CASE("runs with notifiers do not depend on how many run at a time", "[notify]") {
  const auto text = [](unsigned jobs) {
    std::vector<std::string> documents(4);
    std::vector<experiment::job> work;
    for (std::string& d : documents)
      work.push_back({1, [&d](const auto&) {
                        auto json = report::to_json(experiment::run(race("kernel: linux-6.12")));
                        json.erase("provenance");
                        d = json.dump();
                      }});
    experiment::pool_options o;
    o.jobs = jobs;
    for (const auto& state : experiment::run_jobs(work, o)) REQUIRE(state.finished);
    return documents;
  };
  const auto alone = text(1);
  CHECK(text(4) == alone);
  CHECK(alone[0] == alone[3]);
}

TEST_CASE("tables stay in order while notifiers race with faults", "[notify]") {
  for (const char* kernel :
       {"linux-5.17", "linux-6.1", "linux-5.18-rc2+parallel-rfc", "linux-6.2", "linux-6.12"}) {
    CAPTURE(kernel);
    const auto s = race(std::string("kernel: ") + kernel);
    const auto unwatched = experiment::run(s);
    mmu::table_memory memory(mmu::granule_4k);
    workloads::session session(s, memory);
    // 8 MiB below 2^48 - 4 KiB.
    const check::page_window window{engine::ipa{0xffffff7ff000}, engine::mebibytes(8),
                                    hypervisor::table_reader_of(session.vm->tables())};
    check::break_before_make order(window);
    check::stale_translation stale(window);
    check::table_references references([&] { return mmu::verify(session.vm->tables()); });
    check::watch_list all({&order, &stale, &references});
    session.engine.observe(&all);
    workloads::synthetic().run(session);
    CHECK(session.test_ipa == window.address(0));
    CHECK(experiment::convert(session).fingerprint == unwatched.fingerprint);
  }
}

TEST_CASE("complaints about notifiers", "[notify]") {
  const auto with = [](const std::string& keys) {
    const auto parsed = scenario::parse_text(
        "schema_version: 1\nmachine: unit\nvm: {vcpus: 2}\nworkload:\n  type: synthetic\n"
        "  memory: 1MiB\n  phases: [{name: p, " +
            keys + ", steps: [{}]}]\n",
        "s.yaml", simulate::catalogue());
    std::string out;
    for (const auto& d : parsed.errors) out += scenario::to_line(d) + "\n";
    return out;
  };
  CHECK(with("notify: unmap, notify_region: memory, notify_interval: 1us") == "");
  CHECK(
      with("notify_interval: 1us") ==
      "s.yaml:7:39: error: workload.phases[0].notify_interval: only a phase with 'notify' has it; "
      "expected notify: unmap or age\n");
  CHECK(with("notify: unmap, notify_region: heap") ==
        "s.yaml:7:52: error: workload.phases[0].notify_region: unknown region 'heap'; known: "
        "memory\n");
  CHECK(with("notify: swap").find("s.yaml:7:30: error: workload.phases[0].notify: ") == 0);
}
