// SPDX-License-Identifier: Apache-2.0
// Lines as --set arguments: no crash, and what is accepted survives a round trip.
#include <string>
#include <vector>

#include "sim/scenario/parse.hpp"
#include "sim/scenario/render.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/scenario/small_catalogue.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hvsim;
  static const registry::catalogue catalogue = test::small_catalogue();
  std::string_view text = fuzz::text_of(data, size);
  std::vector<std::string> sets;
  while (!text.empty()) sets.emplace_back(fuzz::take_line(text));
  constexpr const char* base =
      "schema_version: 1\nname: fuzz\nmachine: unit\nworkload: {type: touch, pages: 4}\n";
  const auto result = scenario::parse_text(base, "fuzz.yaml", catalogue, sets);
  if (!result) {
    fuzz::require(!scenario::to_text(result.errors, result.sources).empty());
    return 0;
  }
  const auto again =
      scenario::parse_text(scenario::to_yaml(*result.value), "again.yaml", catalogue);
  fuzz::require(again && again.value->effective() == result.value->effective());
  return 0;
}
