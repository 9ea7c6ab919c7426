// SPDX-License-Identifier: Apache-2.0
// Transcripts of small runs on the unit machine, to the picosecond. Any change of what is charged,
// counted or ordered shows here as a readable difference. After an intended change, run this
// program once with HVSIM_WRITE_GOLDEN=1 and look at the difference in the files.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/hypervisor/simulate.hpp"

using namespace hvsim;
using simulate::words;

namespace {

std::string transcript(const report::run_result& r) {
  std::string out;
  for (const auto& line : r.text) out += line + "\n";
  out += fmt::format("\nfaults {} accesses {} total {} ps fingerprint {:016x}\n", r.faults,
                     r.accesses, r.total_time.ps(), r.fingerprint);
  std::int64_t begin = 0;
  for (const auto& p : r.phases) {
    out += fmt::format("\n{} ps {} [{} ps]\n", begin, p.name, p.time.ps());
    begin += p.time.ps();
    for (const auto& b : p.breakdown) out += fmt::format("  {:<18}{:>16}\n", b.name, b.time.ps());
    for (const auto& c : p.counts) out += fmt::format("  {:>8}  {}\n", c.value, c.name);
  }
  out += "\nlock            type       acquired contended     wait ps     hold ps max wait ps\n";
  for (const auto& l : r.locks)
    out +=
        fmt::format("{:<16}{:<10}{:>9}{:>10}{:>12}{:>12}{:>12}\n", l.name, l.type, l.acquisitions,
                    l.contended, l.total_wait.ps(), l.total_hold.ps(), l.max_wait.ps());
  for (const auto& e : r.exits)
    out += fmt::format("exit {} samples {} total {} min {} max {} ps\n", e.reason, e.samples,
                       e.total.ps(), e.min.ps(), e.max.ps());
  return out;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out;
  std::stringstream s(text);
  for (std::string line; std::getline(s, line);) out.push_back(line);
  return out;
}

void compare(const std::string& name, const words& sets) {
  const std::string path = HVSIM_SOURCE_DIR "/tests/golden/" + name + ".txt";
  const std::string now = transcript(simulate::run(sets));
  if (std::getenv("HVSIM_WRITE_GOLDEN") != nullptr) std::ofstream(path) << now;
  std::ifstream file(path);
  REQUIRE(file);
  std::stringstream kept;
  kept << file.rdbuf();
  const auto a = lines(kept.str()), b = lines(now);
  std::string difference;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()) && difference.size() < 2000; ++i) {
    const std::string x = i < a.size() ? a[i] : "", y = i < b.size() ? b[i] : "";
    if (x != y) difference += fmt::format("{}:{}\n- {}\n+ {}\n", name, i + 1, x, y);
  }
  CHECK(difference == "");
}

const words two_vcpus{"vm.vcpus=2", "workload.bytes_per_vcpu=4MiB", "workload.post_passes=1"};

words with(words base, const words& more) {
  base.insert(base.end(), more.begin(), more.end());
  return base;
}

}  // namespace

TEST_CASE("two vCPUs on the last kernel of the old fault path and on the newest") {
  compare("linux-5.18-rc2", with(two_vcpus, {"hypervisor.kernel=linux-5.18-rc2"}));
  compare("linux-6.12", with(two_vcpus, {"hypervisor.kernel=linux-6.12"}));
}

TEST_CASE("two vCPUs on the same pages, manual protection") {
  compare("parallel-rfc-overlap",
          with(two_vcpus, {"hypervisor.kernel=linux-5.18-rc2+parallel-rfc", "workload.overlap=true",
                           "workload.bytes_per_vcpu=1MiB", "workload.no_manual_protect=false"}));
}
