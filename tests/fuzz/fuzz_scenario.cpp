// SPDX-License-Identifier: Apache-2.0
// No bytes may crash the scenario parser, and what it accepts must survive a round trip.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sim/scenario/parse.hpp"
#include "sim/scenario/render.hpp"
#include "tests/scenario/small_catalogue.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hvsim;
  static const registry::catalogue catalogue = test::small_catalogue();
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto result = scenario::parse_text(text, "fuzz.yaml", catalogue);
  if (!result) {
    if (result.errors.empty()) std::abort();
    for (const auto& d : result.errors)
      if (d.message.empty()) std::abort();
    if (scenario::to_text(result.errors, result.sources).empty()) std::abort();
  } else {
    auto again = scenario::parse_text(scenario::to_yaml(*result.value), "again.yaml", catalogue);
    if (!again || again.value->effective() != result.value->effective()) std::abort();
  }
  scenario::parse_machine_text(text, "fuzz.yaml", catalogue);
  return 0;
}
