// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "sim/scenario/parse.hpp"
#include "sim/scenario/render.hpp"
#include "small_catalogue.hpp"

using namespace hvsim;
using Catch::Matchers::Contains;

namespace {

std::string profile_with(const std::string& hop) {
  return "schema_version: 1\nmachine: m\ntopology: {cores: 4}\ncosts:\n"
         "  trap: {value: 1ns, kind: published, source: a}\n"
         "  dram: {value: 1GB/s, kind: derived, source: b}\n" +
         hop;
}

}  // namespace

TEST_CASE("a machine profile gives values and where they come from", "[scenario][machine]") {
  auto m = scenario::parse_machine_text(test::unit_machine, "unit.yaml", test::small_catalogue());
  REQUIRE(m);
  CHECK(m.value->name == "unit");
  CHECK(m.value->description == "round numbers");
  CHECK(m.value->values.integer("machine.topology.cores") == 8);
  CHECK(m.value->values.integer("machine.costs.dram") == 10'000'000'000);
  REQUIRE(m.value->costs.size() == 3);
  const auto& trap = m.value->costs[0];
  CHECK(trap.key == "machine.costs.trap");
  CHECK(trap.kind == registry::cost_kind::published);
  CHECK(trap.source == "a paper");
  CHECK(trap.spread == 20);
  CHECK_FALSE(trap.min);
  const auto& hop = m.value->costs[2];
  CHECK(hop.kind == registry::cost_kind::fitted);
  CHECK(hop.min == 1'000);
  CHECK(hop.max == 9'000);
}

TEST_CASE("wrong machine profiles are told apart", "[scenario][machine]") {
  struct bad {
    const char* hop;
    const char* path;
    const char* phrase;
  };
  for (const auto& b :
       {bad{"  hop: 5ns\n", "costs.hop", "a mapping with value, kind and source"},
        bad{"  hop: {kind: derived, source: c}\n", "costs.hop", "'value' is missing"},
        bad{"  hop: {value: 5ns, source: c}\n", "costs.hop", "'kind' is missing"},
        bad{"  hop: {value: 5ns, kind: derived}\n", "costs.hop", "'source' is missing"},
        bad{"  hop: {value: 5ns, kind: fited, source: c}\n", "costs.hop.kind",
            "did you mean 'fitted'?"},
        bad{"  hop: {value: 5, kind: derived, source: c}\n", "costs.hop.value",
            "did you mean 5ns?"},
        bad{"  hop: {value: 5GB/s, kind: derived, source: c}\n", "costs.hop.value", "is a rate"},
        bad{"  hop: {value: 5ns, kind: fitted, source: c, min: 1ns}\n", "costs.hop",
            "needs 'min' and 'max'"},
        bad{"  hop: {value: 10ns, kind: fitted, source: c, min: 1ns, max: 9ns}\n",
            "costs.hop.value", "outside its own bounds 1ns to 9ns"},
        bad{"  hop: {value: 5ns, kind: fitted, source: c, min: 9ns, max: 1ns}\n", "costs.hop.min",
            "min 9ns is above max 1ns"},
        bad{"  hop: {value: 5ns, kind: derived, source: c, spread: 0.02}\n", "costs.hop.spread",
            "expected a percentage such as 2%"},
        bad{"  hop: {value: 5ns, kind: derived, source: c, sprad: 2%}\n", "costs.hop.sprad",
            "did you mean 'spread'?"},
        bad{"", "costs", "missing costs: hop"}}) {
    INFO(b.hop);
    auto m = scenario::parse_machine_text(profile_with(b.hop), "m.yaml", test::small_catalogue());
    INFO(scenario::to_text(m.errors, m.sources));
    REQUIRE(m.errors.size() == 1);
    CHECK(m.errors[0].path == b.path);
    CHECK_THAT(m.errors[0].message, Contains(b.phrase));
  }
}

TEST_CASE("a required topology key is asked for", "[scenario][machine]") {
  auto m = scenario::parse_machine_text(
      "schema_version: 1\nmachine: m\ncosts:\n"
      "  trap: {value: 1ns, kind: published, source: a}\n"
      "  dram: {value: 1GB/s, kind: derived, source: b}\n"
      "  hop: {value: 1ns, kind: derived, source: c}\n",
      "m.yaml", test::small_catalogue());
  REQUIRE(m.errors.size() == 1);
  CHECK(m.errors[0].path == "topology.cores");
}

TEST_CASE("an error inside a built-in profile points into that profile", "[scenario][machine]") {
  auto catalogue = test::small_catalogue();
  catalogue.machines.emplace_back("broken", profile_with("  hop: 5ns\n"));
  auto s = scenario::parse_text(
      "schema_version: 1\nmachine: broken\nworkload: {type: touch, pages: 1}\n", "s.yaml",
      catalogue);
  REQUIRE(s.errors.size() == 1);
  CHECK(s.errors[0].where.file == "configs/machines/broken.yaml");
  CHECK(s.errors[0].where.line == 7);
  CHECK_THAT(scenario::to_text(s.errors, s.sources), Contains("  7 |   hop: 5ns\n"));
}
