// SPDX-License-Identifier: Apache-2.0
// No bytes may crash the reader of stored comparisons; what it accepts it writes again unchanged.
#include <nlohmann/json.hpp>

#include "sim/experiment/compare.hpp"
#include "sim/report/errors.hpp"
#include "tests/fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hvsim;
  const auto document = nlohmann::ordered_json::parse(fuzz::text_of(data, size), nullptr, false);
  if (document.is_discarded()) return 0;
  try {
    const experiment::comparison c = experiment::comparison_from_json(document);
    const auto written = experiment::to_json(c);
    fuzz::require(experiment::to_json(experiment::comparison_from_json(written)) == written);
    (void)experiment::deviations(c, c, 0);
    (void)written.dump();
  } catch (const report::input_error& e) {
    fuzz::require(*e.what() != '\0');
  }
  return 0;
}
