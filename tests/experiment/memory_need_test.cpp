// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/memory_need.hpp"

#include <catch2/catch.hpp>

#include "guest_workloads/session.hpp"
#include "sim/experiment/rules.hpp"
#include "sim/experiment/run.hpp"
#include "sim/scenario/parse.hpp"
#include "tests/hypervisor/simulate.hpp"

using namespace hvsim;
using Catch::Matchers::Contains;
using engine::bytes;

namespace {

scenario::parsed<scenario::scenario> parsed(const std::string& workload, bytes available,
                                            const std::vector<std::string>& sets = {}) {
  return scenario::parse_text(
      "schema_version: 1\nmachine: unit\nvm: {vcpus: 2}\nworkload: " + workload + "\n", "s.yaml",
      simulate::catalogue(), sets, experiment::memory_rules(available));
}

scenario::scenario good(const std::string& workload) {
  auto result = parsed(workload, engine::gibibytes(1 << 20));
  REQUIRE(result);
  return std::move(*result.value);
}

experiment::memory_need need_of(const std::string& workload) {
  return experiment::least_memory(good(workload)).value();
}

}  // namespace

TEST_CASE("what a run is bound to take follows from its test memory", "[experiment]") {
  // 1 GiB a vCPU are 512 chunks of 2 MiB each. A chunk has one table of 4 KiB; 512 frames of 4
  // bytes (one in huge pages); 128 bytes of bitmaps and a line of 16; 30 bytes for its stage-1
  // tables and its owner.
  const auto small = need_of("{type: dirty_log_perf_test, bytes_per_vcpu: 1GiB}");
  CHECK(small.test_memory == engine::gibibytes(2));
  CHECK(small.tables == bytes{1024 * 4096});
  CHECK(small.others == bytes{1024 * (30 + 144 + 2048)});
  const auto huge =
      need_of("{type: dirty_log_perf_test, bytes_per_vcpu: 1GiB, backing: anonymous_hugetlb_2mb}");
  CHECK(huge.tables == bytes{1024 * 4096});  // split when they are written under the log
  CHECK(huge.others == bytes{1024 * (30 + 144 + 4)});
  const auto blocks = need_of(
      "{type: dirty_log_perf_test, bytes_per_vcpu: 1GiB, backing: anonymous_thp, "
      "stop_after_populate: true}");
  CHECK(blocks.tables == bytes{});
  CHECK(blocks.others == bytes{1024 * (30 + 4)});
  // A stream may touch as little as it likes.
  const auto trace = need_of("{type: trace, file: x, memory: 2GiB}");
  CHECK(trace.total() == bytes{1024 * 30});
  CHECK(trace.reserved == bytes{1024 * 2048});
  CHECK(need_of("{type: trace, file: x, memory: 2GiB, log: true}").total() ==
        bytes{1024 * (30 + 144)});
  const std::string phases =
      "phases: [{name: a, steps: [{}]}, {name: b, log: enable, steps: [{}]}]";
  CHECK(need_of("{type: synthetic, memory: 1GiB, sharing: private, " + phases + "}").total() ==
        bytes{1024 * (30 + 144)});
  CHECK(need_of("{type: synthetic, memory: 1GiB, sharing: shared, " + phases + "}").total() ==
        bytes{512 * (30 + 144)});
  CHECK_FALSE(experiment::least_memory(good("lock_torture")).has_value());
}

TEST_CASE("the bound is below what a run takes, and near", "[experiment]") {
  for (const char* backing : {"anonymous", "anonymous_thp"}) {
    const scenario::scenario s =
        good(std::string("{type: dirty_log_perf_test, bytes_per_vcpu: 64MiB, backing: ") + backing +
             "}");
    const auto need = experiment::least_memory(s).value();
    // What the result counts has neither the log, which is gone at the end, nor the owners.
    constexpr std::uint64_t chunks = 64;
    const std::uint64_t taken = experiment::run(s).table_bytes + chunks * (144 + 2);
    INFO(backing << " " << taken);
    CHECK(need.total().value() <= taken);
    CHECK(need.total().value() * 10 >= taken * 7);  // tables of the program come on top
  }
}

TEST_CASE("what cannot fit is refused where its size is written", "[experiment]") {
  const std::string workload = "{type: dirty_log_perf_test, bytes_per_vcpu: 64GiB}";
  // 65,536 chunks of 4,096 + 30 + 144 + 2,048 bytes.
  CHECK(parsed(workload, bytes{65'536ULL * 6'318}));
  const auto tight = parsed(workload, bytes{65'536ULL * 6'318 - 1});
  REQUIRE(tight.errors.size() == 1);
  CHECK(tight.errors[0].path == "workload.bytes_per_vcpu");
  CHECK(tight.errors[0].where.line == 4);
  CHECK_THAT(tight.errors[0].message,
             Contains("0.4 GiB of this computer for 128.0 GiB of test memory") &&
                 Contains("use less memory"));
  // Tables have a limit whatever the computer has: 16 GiB of them map 8 TiB.
  const bytes endless{~std::uint64_t{0}};
  CHECK(parsed("dirty_log_perf_test", endless,
               {"machine=generic-512", "vm.vcpus=8", "workload.bytes_per_vcpu=1TiB"}));
  const auto tables = parsed("dirty_log_perf_test", endless,
                             {"machine=generic-512", "vm.vcpus=9", "workload.bytes_per_vcpu=1TiB"});
  REQUIRE(tables.errors.size() == 1);
  CHECK_THAT(tables.errors[0].message,
             Contains("18.0 GiB of translation tables") && Contains("at most 16.0 GiB"));
  // 4 bytes for each page of 64 TiB, of which only what is used is taken.
  const auto sparse = parsed("{type: trace, file: x, memory: 64TiB}", engine::gibibytes(63));
  REQUIRE(sparse.errors.size() == 1);
  CHECK(sparse.errors[0].path == "workload.memory");
  CHECK_THAT(sparse.errors[0].message, Contains("64.0 GiB") && Contains("workload.backing"));
  CHECK(parsed("{type: trace, file: x, memory: 64TiB, backing: anonymous_hugetlb_2mb}",
               engine::gibibytes(63)));
}

TEST_CASE("this computer has memory", "[experiment]") {
  CHECK(experiment::memory_of_computer() > bytes{64ULL << 20});
}
