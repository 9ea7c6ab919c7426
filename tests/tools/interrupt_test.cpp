// SPDX-License-Identifier: Apache-2.0
// SIGINT ends every kind of work with 130 and keeps what is finished. How soon is not asserted,
// since machines are loaded; what never answers runs into the time limit of the test.
#include <catch2/catch.hpp>

#include "program.hpp"

using namespace hvsim;
using Catch::Matchers::Contains;

namespace {

test::ended interrupted(const std::string& arguments, double after = 1) {
  const test::ended e = test::hvsim(arguments, after);
  INFO(arguments << "\n" << e.out << e.err << e.seconds);
  CHECK(e.code == 130);
  return e;
}

}  // namespace

TEST_CASE("SIGINT stops a run", "[tools]") {
  interrupted("run published/scenarios/stage2-parallel-faults --set vm.vcpus=48");
}

TEST_CASE("SIGINT stops the setup of a huge guest", "[tools]") {
  // Two hundred terabytes: page tables of the guest alone are a hundred million.
  interrupted(
      "run published/scenarios/stage2-parallel-faults --set machine=generic-512 --set "
      "vm.vcpus=200 --set workload.bytes_per_vcpu=1TiB --set workload.backing=anonymous",
      0.3);
}

TEST_CASE("SIGINT stops a benchmark and keeps the rows that are done", "[tools]") {
  const test::ended e = interrupted("bench --format csv --bytes-per-vcpu 2MiB --jobs 1", 2);
  CHECK_THAT(e.out, Contains("benchmark,value,unit\nfaults_per_second_48_rc2,"));
  CHECK_THAT(e.out, !Contains("grid_wall"));
}

TEST_CASE("SIGINT keeps the finished cells of a comparison", "[tools]") {
  const test::ended e = interrupted(
      "compare published/scenarios/stage2-parallel-faults --jobs 1 --set vm.vcpus=48 "
      "--metric total_time --vary workload.bytes_per_vcpu=2MiB,4GiB",
      2);
  CHECK_THAT(e.out, Contains("2MiB") && Contains("s ") && Contains("-"));
}
