// SPDX-License-Identifier: Apache-2.0
// The host's kernel on fewer CPUs than threads: every fault path works, does the same, and books
// every picosecond.
#include <catch2/catch.hpp>
#include <string>

#include "workloads/streams.hpp"

using namespace hvsim;
using engine::duration;
using engine::microseconds;
using engine::milliseconds;
using simulate::words;

namespace {

const std::vector<std::string> kernels{
    "linux-5.17", "linux-5.18-rc2", "linux-5.18-rc2+parallel-rfc",
    "linux-6.1",  "linux-6.2",      "linux-6.12"};

void check_sums(const report::run_result& r) {
  duration total;
  for (const auto& p : r.phases) {
    CAPTURE(p.name);
    duration sum;
    for (const auto& b : p.breakdown) {
      CHECK(b.time > duration{});
      sum += b.time;
    }
    CHECK(sum == p.time * r.threads);
    total += p.time;
  }
  CHECK(r.total_time == total);
}

duration part(const report::run_result& r, const std::string& name) {
  for (const auto& b : r.breakdown)
    if (b.name == name) return b.time;
  return {};
}

duration phase(const report::run_result& r, const std::string& name) {
  return report::find_time(r, name).value();
}

/// What the dirty log is about, in every phase.
std::vector<std::uint64_t> dirty_counts(const report::run_result& r) {
  std::vector<std::uint64_t> out;
  for (const char* p : {"dirty1", "dirty2", "log1", "log2"})
    for (const char* kind : {"event mark_dirty", "event wp_masked",
                             "event s2_wrprotect size=0x40000", "fault test DW perm L3",
                             "fault test DW perm L2", "fault test DW trans L3", "event put_pte"})
      out.push_back(test::count_of(r, p, kind));
  return out;
}

words forty_eight(const std::string& kernel, const words& more = {}) {
  words w{"machine=altra-64", "vm.vcpus=48", "workload.bytes_per_vcpu=4MiB",
          "hypervisor.kernel=" + kernel};
  w.insert(w.end(), more.begin(), more.end());
  return w;
}

}  // namespace

TEST_CASE("48 vCPUs on 24 CPUs dirty and log the same pages on every kernel") {
  for (const std::string& kernel : kernels) {
    CAPTURE(kernel);
    const auto alone = simulate::run(forty_eight(kernel));
    const auto expected = dirty_counts(alone);
    // Each page of 48 * 4 MiB once a pass.
    CHECK(test::count_of(alone, "dirty2", "event mark_dirty") == 48 * 1024);
    CHECK(part(alone, "steal") == duration{});
    for (const char* how : {"kernel", "blind"}) {
      CAPTURE(how);
      const words sets =
          forty_eight(kernel, {"host.cpus=24", std::string("host.preemption=") + how});
      const auto r = simulate::run(sets);
      check_sums(r);
      CHECK(dirty_counts(r) == expected);
      CHECK(part(r, "steal") > duration{});
      CHECK(phase(r, "dirty2") > phase(alone, "dirty2"));
      CHECK(simulate::run(sets).fingerprint == r.fingerprint);
    }
  }
}

TEST_CASE("CPUs for all threads change nothing") {
  // 8 vCPUs and the main thread.
  const words base{"vm.vcpus=8", "workload.bytes_per_vcpu=2MiB"};
  const auto with = [&base](const std::string& set) {
    words w = base;
    w.push_back(set);
    return simulate::run(w);
  };
  const auto plain = simulate::run(base);
  const auto enough = with("host.cpus=9");
  CHECK(enough.fingerprint == plain.fingerprint);
  CHECK(enough.phases == plain.phases);
  CHECK(enough.locks == plain.locks);
  CHECK(with("host.cpus=8").fingerprint != plain.fingerprint);
}

TEST_CASE("two threads on one CPU: a phase takes the work of both and the slices of the spinner") {
  // Unit machine, one vCPU, no costs of switching. The pass of 16 MiB is shorter than a slice, and
  // the main thread polls: it sees the end when it gets its CPU back, at a tick of 4 ms.
  const words base{"workload.bytes_per_vcpu=16MiB", "host.switch_cost=0"};
  words one = base;
  one.push_back("host.cpus=1");
  const auto alone = simulate::run(base);
  const auto r = simulate::run(one);
  check_sums(r);
  REQUIRE(phase(alone, "dirty2") < milliseconds(4));
  CHECK(phase(r, "dirty2") >= phase(alone, "dirty2"));
  CHECK(phase(r, "dirty2") <= milliseconds(8));
  // What the guest does is the same work, to the picosecond.
  for (const char* name : {"guest", "tlb_walk", "trap", "table_work", "cache_maintenance"}) {
    CAPTURE(name);
    CHECK(part(r, name) == part(alone, name));
  }
}

TEST_CASE("blind preemption takes the CPU from holders of mmu_lock, the kernel does not") {
  const auto run = [](const char* how) {
    return simulate::run({"vm.vcpus=12", "workload.bytes_per_vcpu=16MiB", "host.cpus=4",
                          "hypervisor.kernel=linux-5.17", std::string("host.preemption=") + how});
  };
  const auto kernel = run("kernel");
  const auto blind = run("blind");
  check_sums(blind);
  CHECK(part(kernel, "lock_holder_preempted") <= part(kernel, "mmu_lock_wait") / 100);
  CHECK(part(blind, "lock_holder_preempted") > part(blind, "mmu_lock_wait"));
  CHECK(phase(blind, "dirty2") > phase(kernel, "dirty2") * 2);
  CHECK(test::count_of(blind, "dirty2", "locks_handed_off_cpu") > 0);
  CHECK(test::count_of(kernel, "dirty2", "locks_handed_off_cpu") == 0);
}

TEST_CASE("every policy schedules the host, pinned or not, with tasks in the background") {
  for (const char* policy : {"cfs", "eevdf", "credit"})
    for (const char* pinned : {"false", "true"}) {
      CAPTURE(policy, pinned);
      const words sets{"vm.vcpus=8", "host.cpus=4", "workload.bytes_per_vcpu=2MiB",
                       std::string("host.scheduler=") + policy,
                       std::string("host.pinned=") + pinned};
      const auto r = simulate::run(sets);
      check_sums(r);
      words loaded = sets;
      loaded.push_back("host.background=4");
      const auto l = simulate::run(loaded);
      check_sums(l);
      CHECK(l.total_time > r.total_time);
    }
}

TEST_CASE("access streams share CPUs as well") {
  const std::string text =
      "schema_version: 1\nname: s\nmachine: unit\nvm: {vcpus: 8}\nhypervisor: {kernel: linux-6.1}\n"
      "workload:\n  type: synthetic\n  memory: 4MiB\n  sharing: shared\n  phases:\n"
      "    - {name: fill, steps: [{pattern: sequential, write: 100}]}\n"
      "    - {name: mix, log: enable, steps: [{pattern: random, count: 2000, read: 50, write: "
      "50}]}\n";
  const auto alone = experiment::run(test::good(text));
  const auto r = experiment::run(test::good(text + "host: {cpus: 3}\n"));
  check_sums(r);
  CHECK(r.accesses == alone.accesses);
  CHECK(part(r, "steal") > duration{});
}

TEST_CASE("a replayed trace shares CPUs as well") {
  const test::scratch folder;
  folder.file("t.trace",
              "# hvsim-trace 1\n0 0 W mem:0 4096\n1 0 W mem:0x200000 4096\n2 5us W mem:0x400000 "
              "4096\nbarrier\n"
              "3 0 R mem:0 8192\n");
  const std::string text =
      "schema_version: 1\nname: t\nmachine: unit\nvm: {vcpus: 4}\nhypervisor: {kernel: linux-6.1}\n"
      "workload: {type: trace, file: t.trace, memory: 8MiB}\n";
  const std::string name = folder.at("s.yaml");
  const auto alone = experiment::run(test::good(text, name));
  const auto r = experiment::run(test::good(text + "host: {cpus: 2}\n", name));
  check_sums(r);
  CHECK(r.accesses == alone.accesses);
  CHECK(part(r, "steal") > duration{});
}
