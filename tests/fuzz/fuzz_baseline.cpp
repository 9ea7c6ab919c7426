// SPDX-License-Identifier: Apache-2.0
// No bytes may crash the reader of stored comparisons; what it accepts it writes again unchanged.
#include <string>

#include "sim/experiment/compare.hpp"
#include "sim/report/errors.hpp"
#include "tests/fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hvsim;
  try {
    const experiment::comparison c =
        experiment::comparison_from_json({"fuzz.json", fuzz::text_of(data, size)});
    const std::string written = experiment::to_json(c).dump();
    fuzz::require(
        experiment::to_json(experiment::comparison_from_json({"fuzz.json", written})).dump() ==
        written);
    (void)experiment::deviations(c, c, 0);
  } catch (const report::input_error& e) {
    fuzz::require(*e.what() != '\0');
  }
  return 0;
}
