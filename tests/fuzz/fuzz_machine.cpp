// SPDX-License-Identifier: Apache-2.0
// No bytes may crash the reader of machine profiles, and what it refuses it must explain.
#include "sim/scenario/parse.hpp"
#include "sim/scenario/render.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/scenario/small_catalogue.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hvsim;
  static const registry::catalogue catalogue = test::small_catalogue();
  const auto result =
      scenario::parse_machine_text(fuzz::text_of(data, size), "fuzz.yaml", catalogue);
  fuzz::require(static_cast<bool>(result) == result.errors.empty());
  if (!result) fuzz::require(!scenario::to_text(result.errors, result.sources).empty());
  return 0;
}
