// SPDX-License-Identifier: Apache-2.0
// Combinations of valid values that cannot be, and those that are probably not meant.
#include "sim/experiment/rules.hpp"

#include <catch2/catch.hpp>

#include "sim/experiment/catalogue.hpp"
#include "sim/experiment/run.hpp"
#include "sim/scenario/parse.hpp"
#include "tests/hypervisor/simulate.hpp"

using namespace hvsim;
using Catch::Matchers::Contains;

namespace {

scenario::parsed<scenario::scenario> with(const std::vector<std::string>& sets) {
  return scenario::parse_text(
      "schema_version: 1\nmachine: unit\nvm: {vcpus: 2}\nworkload: {type: dirty_log_perf_test, "
      "bytes_per_vcpu: 2MiB}\n",
      "s.yaml", simulate::catalogue(), sets, experiment::builtin_rules());
}

void refused(const std::vector<std::string>& sets, const std::string& key,
             const std::string& phrase) {
  const auto result = with(sets);
  REQUIRE(result.errors.size() == 1);
  CHECK(result.errors[0].path == key);
  CHECK_THAT(result.errors[0].message, Contains(phrase));
}

std::vector<std::string> warnings(const std::vector<std::string>& sets) {
  const auto result = with(sets);
  REQUIRE(result);
  std::vector<std::string> out;
  for (const auto& r : experiment::builtin_warnings())
    if (const auto message = r.check(*result.value)) out.push_back(r.key + ": " + *message);
  return out;
}

}  // namespace

TEST_CASE("write_fraction and write_percent exclude each other", "[experiment]") {
  CHECK(with({"workload.write_fraction=2"}));
  CHECK(with({"workload.write_percent=50"}));
  refused({"workload.write_fraction=2", "workload.write_percent=50"}, "workload.write_percent",
          "give one");
}

TEST_CASE("nothing runs behind the end", "[experiment]") {
  CHECK(with({"workload.stop_after_populate=true"}));
  refused({"workload.stop_after_populate=true", "workload.post_passes=1"},
          "workload.stop_after_populate", "workload.post_passes has no effect");
  refused({"workload.stop_after_populate=true", "workload.run_while_disabling=true"},
          "workload.stop_after_populate", "workload.run_while_disabling has no effect");
}

TEST_CASE("the read side of mmu_lock needs a lock that has one, and a walker that shares",
          "[experiment]") {
  const std::string kernel = "hypervisor.kernel=linux-6.1";
  for (const std::string key : {"hypervisor.fault_side", "hypervisor.access_fault_side"}) {
    CAPTURE(key);
    CHECK(with({kernel, key + "=write"}));
    refused({kernel, key + "=read"}, key, "the exclusive walker needs the write side");
    refused({"hypervisor.kernel=linux-5.17", key + "=read"}, key, "a spinlock has no read side");
  }
}

TEST_CASE("each walker has its ways to collapse", "[experiment]") {
  const std::string key = "hypervisor.collapse";
  const auto merged = [](const std::string& kernel) { return "hypervisor.kernel=" + kernel; };
  CHECK(with({merged("linux-6.2"), key + "=detach"}));
  refused({merged("linux-6.2"), key + "=lock_descendants"}, key, "needs the walker rfc");
  refused({merged("linux-6.2"), key + "=pre_post"}, key, "belongs to the exclusive walker");
  refused({merged("linux-6.1"), key + "=detach"}, key, "collapses with pre_post only");
  const std::string rfc = merged("linux-5.18-rc2+parallel-rfc");
  CHECK(with({rfc, key + "=detach"}));
  refused({rfc, "hypervisor.walker=merged"}, key, "needs the walker rfc");
}

TEST_CASE("what is probably not meant is warned about", "[experiment]") {
  CHECK(warnings({}).empty());
  CHECK(warnings({"hypervisor.kernel=linux-6.1", "hypervisor.table_free=immediate"}).empty());
  for (const std::string early :
       {"hypervisor.table_free=immediate", "hypervisor.free_without_rcu=true"}) {
    const auto freed = warnings({"hypervisor.kernel=linux-6.2", early});
    REQUIRE(freed.size() == 1);
    CHECK_THAT(freed[0], Contains("a planted bug"));
  }
  const auto tlbi = warnings({"hypervisor.tlbi_scope=local"});
  REQUIRE(tlbi.size() == 1);
  CHECK_THAT(tlbi[0], Contains("relax_tlbi"));
}

TEST_CASE("CPUs that vCPUs share exist, and are shared by one VM of the host's kernel",
          "[experiment]") {
  CHECK(with({"vm.vcpus=40", "host.cpus=16", "host.background=4"}));
  refused({"host.cpus=17"}, "host.cpus", "17 CPUs on a machine with 16 cores");
  refused({"host.vms=2"}, "host.vms", "only workloads with a guest kernel");
  refused({"host.background=1"}, "host.background", "background tasks need host.cpus");
  CHECK(with({"vm.vcpus=4", "host.cpus=2", "vm.placement=list", "vm.cores=[3, 5]"}));
  refused({"vm.vcpus=4", "host.cpus=3", "vm.placement=list", "vm.cores=[3, 5]"}, "vm.cores", "");
}

TEST_CASE("CPUs are cold where a guest's tasks run, and only if they warm up", "[experiment]") {
  CHECK(with({"host.warm_up=40ms", "host.cold_permille=0"}));
  refused({"host.warm_up=40ms", "host.cold_permille=500"}, "host.cold_permille",
          "only workloads with a guest kernel");
  const auto guest = [](const std::string& warm_up) {
    return scenario::parse_text(
        "schema_version: 1\nmachine: unit\nvm: {vcpus: 2}\nhost: {cold_permille: 500, warm_up: " +
            warm_up + "}\nworkload: {type: hackbench}\n",
        "s.yaml", simulate::catalogue(), {}, experiment::builtin_rules());
  };
  CHECK(guest("40ms"));
  const auto never = guest("0ns");
  REQUIRE(never.errors.size() == 1);
  CHECK(never.errors[0].path == "host.cold_permille");
  CHECK_THAT(never.errors[0].message, Contains("while host.warm_up is 0"));
}

TEST_CASE("memory that is no whole pages is one complaint", "[experiment]") {
  refused({"workload.bytes_per_vcpu=5000B"}, "workload.bytes_per_vcpu", "multiple of 4KiB");
  refused({"workload.bytes_per_vcpu=8KiB", "workload.memslots=3"}, "workload.memslots",
          "cannot be cut into 3");
}

TEST_CASE("the table's range of a TLB is what a TLB takes", "[experiment]") {
  CHECK(with({"machine.features.tlb_l1_entries=254"}));
  refused({"machine.features.tlb_l1_entries=255"}, "machine.features.tlb_l1_entries",
          "must be between 1 and 254");
  refused({"machine.features.tlb_l2_entries=65536", "machine.features.tlb_l2_ways=1"},
          "machine.features.tlb_l2_entries", "must be between 1 and 65535");
  refused({"machine.features.tlb_l2_entries=256", "machine.features.tlb_l2_ways=256"},
          "machine.features.tlb_l2_ways", "must be between 1 and 255");
  // The largest of each runs.
  const auto largest =
      with({"machine.features.tlb_l1_entries=254", "machine.features.tlb_l2_entries=65280",
            "machine.features.tlb_l2_ways=255"});
  REQUIRE(largest);
  CHECK(experiment::run(*largest.value).faults > 0);
}
