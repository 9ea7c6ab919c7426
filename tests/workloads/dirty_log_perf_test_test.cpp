// SPDX-License-Identifier: Apache-2.0
// Options of dirty_log_perf_test, against arithmetic.
#include <utility>

#include "streams.hpp"

using namespace hvsim;
using simulate::words;

namespace {

/// Faults of a kind, such as "fault test DW trans", over the levels.
std::uint64_t faults(const report::run_result& r, const std::string& phase,
                     const std::string& kind) {
  std::uint64_t sum = 0;
  for (const char* level : {" L0", " L1", " L2", " L3"})
    sum += test::count_of(r, phase, kind + level);
  return sum;
}

report::run_result run(const words& more) {
  words w{"vm.vcpus=2", "workload.bytes_per_vcpu=4MiB", "workload.backing=anonymous"};
  w.insert(w.end(), more.begin(), more.end());
  return simulate::run(w);
}

}  // namespace

TEST_CASE("random order and a share of reads come after the populate pass", "[selftest]") {
  // 2 vCPUs with 1024 pages each.
  for (const char* option : {"workload.random_access=true", "workload.write_percent=50"}) {
    CAPTURE(option);
    const auto r = run({option});
    CHECK(faults(r, "populate", "fault test DW trans") == 2048);
    CHECK(faults(r, "populate", "fault test DR trans") == 0);
    // Enabling protected every page; who is not written once, or is only read, stays so.
    const std::uint64_t first = faults(r, "dirty1", "fault test DW perm");
    CHECK(first > 512);
    CHECK(first < 2048);
  }
}

TEST_CASE("a fraction of writes holds for the populate pass too", "[selftest]") {
  const auto r = run({"workload.write_fraction=4"});
  CHECK(faults(r, "populate", "fault test DW trans") == 512);
  CHECK(faults(r, "populate", "fault test DR trans") == 1536);
}

TEST_CASE("vCPUs repeat their pass until logging is disabled", "[selftest]") {
  const auto passes = [](const char* disabling, const char* post) {
    const auto r = run({"vm.vcpus=1", "workload.bytes_per_vcpu=256KiB",
                        "workload.run_while_disabling=true", "machine.costs.guest_access=10us",
                        std::string("machine.costs.ioctl_base=") + disabling,
                        std::string("workload.post_passes=") + post});
    // Each pass ends with an exit to userspace.
    return std::pair{test::count_of(r, "disable", "event abort_ret=0"),
                     test::count_of(r, "post", "event abort_ret=0")};
  };
  using counts = std::pair<std::uint64_t, std::uint64_t>;
  // A pass is 64 accesses of 10 us and an exit of some 11 us, 640 to 660 us, and at most 100 us
  // more for the 64 permission faults of the first. So it ends after logging is off, or the fourth
  // ends before 3 ms and the fifth after it.
  CHECK(passes("100us", "0") == counts{1, 0});
  CHECK(passes("3ms", "0") == counts{5, 0});
  CHECK(passes("3ms", "2") == counts{5, 2});
}

TEST_CASE("every vCPU leaves after the pass in which logging was disabled", "[selftest]") {
  // As above, but each vCPU has 64 pages of its own: the clocks differ by less than a pass.
  const auto r =
      run({"vm.vcpus=3", "workload.bytes_per_vcpu=256KiB", "workload.run_while_disabling=true",
           "machine.costs.guest_access=10us", "machine.costs.ioctl_base=3ms"});
  CHECK(test::count_of(r, "disable", "event abort_ret=0") == 15);
}

TEST_CASE("the text is that of the version of the guest image", "[selftest]") {
  const auto head = [](const char* image, const char* seed) {
    const auto r = run({std::string("vm.image=") + image, std::string("seed=") + seed});
    return std::vector<std::string>(r.text.begin(), r.text.begin() + 5);
  };
  // 8 MiB below 2^48 - 4 KiB.
  const std::string memory = "guest physical test memory: [0xffffff7ff000, 0xfffffffff000)";
  const std::string mode = "Testing guest mode: PA-bits:48,  VA-bits:48,  4K pages";
  const auto old = head("selftest-6.1", "1");
  CHECK(old[1] == mode);
  CHECK(old[2] == memory);
  const auto young = head("selftest-6.12", "1");
  CHECK(young[0] == "Test iterations: 2");
  CHECK(young[1] == mode);
  CHECK(young[2] == "Random seed: 0x1");
  CHECK(young[3] == memory);
  CHECK(head("selftest-6.12", "26")[2] == "Random seed: 0x1a");
}
