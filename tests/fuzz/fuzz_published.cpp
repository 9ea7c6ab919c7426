// SPDX-License-Identifier: Apache-2.0
// No bytes may crash the reader of published tables; what it refuses it explains.
#include "sim/experiment/published.hpp"
#include "sim/experiment/source.hpp"
#include "tests/fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hvsim;
  try {
    const auto p = experiment::parse_published(std::string(fuzz::text_of(data, size)), "fuzz.yaml");
    for (const auto& table : p.tables)
      for (const auto& series : table.series) {
        fuzz::require(series.values.size() == p.runs.size());
        for (const auto& run : series.values) fuzz::require(run.size() == table.xs.size());
      }
  } catch (const experiment::config_error& e) {
    fuzz::require(*e.what() != '\0');
  }
  return 0;
}
