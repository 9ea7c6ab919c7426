// SPDX-License-Identifier: Apache-2.0
// Runs a guest workload from the text of a scenario.
#pragma once

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <string>

#include "sim/experiment/catalogue.hpp"
#include "sim/experiment/run.hpp"
#include "sim/report/result.hpp"
#include "sim/scenario/parse.hpp"
#include "sim/scenario/render.hpp"

namespace guest_scenario {

inline std::string text_of(const std::string& path) {
  std::ifstream in(std::string(HVSIM_SOURCE_DIR) + "/" + path, std::ios::binary);
  REQUIRE(in);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline hvsim::scenario::scenario parse(const std::string& text) {
  hvsim::registry::catalogue catalogue = hvsim::experiment::builtin_catalogue();
  for (const char* machine : {"altra-64", "x86-36", "unit"})
    catalogue.machines.emplace_back(machine,
                                    text_of(std::string("configs/machines/") + machine + ".yaml"));
  auto parsed = hvsim::scenario::parse_text(text, "test.yaml", catalogue);
  INFO(hvsim::scenario::to_text(parsed.errors, parsed.sources));
  REQUIRE(parsed);
  return std::move(*parsed.value);
}

inline hvsim::report::run_result run(const std::string& text) {
  const hvsim::scenario::scenario s = parse(text);
  return hvsim::experiment::run(s, {});
}

/// In seconds.
inline double time(const hvsim::report::run_result& r, const std::string& key) {
  const auto t = hvsim::report::find_time(r, key);
  REQUIRE(t);
  return static_cast<double>(t->ps()) / 1e12;
}

}  // namespace guest_scenario
