// SPDX-License-Identifier: Apache-2.0
// What bash offers behind a half-written command line.
#include <catch2/catch.hpp>
#include <set>
#include <sstream>

#include "program.hpp"

using namespace hvsim;

namespace {

/// The offers behind `words` (shell words; the last one is half-written).
std::set<std::string> offered(const std::string& words) {
  const test::ended e = test::shell(
      "complete() { :; }; compopt() { :; }; eval \"$('" HVSIM_PROGRAM
      "' completion bash)\"; COMP_WORDS=(hvsim " +
      words +
      "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _hvsim; printf '%s\\n' \"${COMPREPLY[@]}\"");
  INFO(e.err);
  REQUIRE(e.code == 0);
  std::istringstream lines(e.out);
  std::set<std::string> out;
  for (std::string line; std::getline(lines, line);) out.insert(line);
  return out;
}

using words = std::set<std::string>;

}  // namespace

TEST_CASE("options that take words offer them", "[tools]") {
  CHECK(offered("run --format ''") == words{"text", "json", "csv"});
  CHECK(offered("reproduce --format m") == words{"markdown"});
  CHECK(offered("reproduce --placement ''") == words{"compact", "spread"});
  CHECK(offered("--progress a") == words{"auto", "always"});
  CHECK(offered("--progress auto run x --format j") == words{"json"});
  CHECK(offered("completion z") == words{"zsh"});
}

TEST_CASE("built-in names are offered", "[tools]") {
  CHECK(offered("run published/sc").contains("published/scenarios/stage2-parallel-faults"));
  for (const char* command : {"run", "compare", "check", "validate"}) {
    INFO(command);
    CHECK(offered(std::string(command) + " examples/z") == words{"examples/zipf"});
  }
  CHECK(offered("reproduce st") == words{"stage2-parallel-faults"});
}

TEST_CASE("settings are offered by key, then by value", "[tools]") {
  CHECK(offered("run x --set hypervisor.k") == words{"hypervisor.kernel="});
  CHECK(offered("run x --set hypervisor.kernel = linux-6.1") == words{"linux-6.1", "linux-6.12"});
  CHECK(offered("run x --set hypervisor.kernel =").contains("linux-5.18-rc2+parallel-rfc"));
  CHECK(offered("compare x --vary vm.placement = compact,s") == words{"compact,spread"});
  CHECK(offered("run x --set workload.overlap = t") == words{"true"});
  CHECK(offered("run x --set machine = alt") == words{"altra-64"});
}
