// SPDX-License-Identifier: Apache-2.0
// No bytes may crash the scenario parser, and what it accepts must survive a round trip.
#include "sim/scenario/parse.hpp"
#include "sim/scenario/render.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/scenario/small_catalogue.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hvsim;
  static const registry::catalogue catalogue = test::small_catalogue();
  const auto result = scenario::parse_text(fuzz::text_of(data, size), "fuzz.yaml", catalogue);
  if (!result) {
    fuzz::require(!result.errors.empty());
    for (const auto& d : result.errors) fuzz::require(!d.message.empty());
    fuzz::require(!scenario::to_text(result.errors, result.sources).empty());
    return 0;
  }
  const auto again =
      scenario::parse_text(scenario::to_yaml(*result.value), "again.yaml", catalogue);
  fuzz::require(again && again.value->effective() == result.value->effective());
  return 0;
}
