// SPDX-License-Identifier: Apache-2.0
// Scenarios of access streams, their runs and complaints.
#pragma once

#include <catch2/catch.hpp>
#include <string>

#include "scratch.hpp"
#include "sim/scenario/render.hpp"
#include "tests/hypervisor/simulate.hpp"

namespace hvsim::test {

inline scenario::scenario good(const std::string& text, const std::string& name = "s.yaml") {
  auto parsed = scenario::parse_text(text, name, simulate::catalogue());
  INFO(scenario::to_text(parsed.errors, parsed.sources));
  REQUIRE(parsed);
  return *parsed.value;
}

inline std::uint64_t count_of(const report::run_result& r, const std::string& phase,
                              const std::string& kind) {
  return simulate::counts_by_phase(r)[phase][kind];
}

}  // namespace hvsim::test
