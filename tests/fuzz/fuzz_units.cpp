// SPDX-License-Identifier: Apache-2.0
// Each line as a value of every kind: what is accepted has a canonical text that means the same.
#include "sim/scenario/units.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace {

template <class Parse, class Format>
void round_trip(std::string_view text, Parse parse, Format format) {
  const auto first = parse(text);
  hvsim::fuzz::require(first ? first.error.empty() : !first.error.empty());
  if (!first) return;
  const auto again = parse(format(*first.value));
  hvsim::fuzz::require(again && *again.value == *first.value);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hvsim;
  std::string_view text = fuzz::text_of(data, size);
  while (!text.empty()) {
    const std::string_view line = fuzz::take_line(text);
    round_trip(
        line, [](std::string_view t) { return scenario::parse_size(t); }, scenario::format_size);
    round_trip(
        line, [](std::string_view t) { return scenario::parse_time(t); }, scenario::format_time);
    round_trip(
        line, [](std::string_view t) { return scenario::parse_rate(t); }, scenario::format_rate);
    round_trip(line, scenario::parse_integer, [](std::int64_t v) { return std::to_string(v); });
    round_trip(line, scenario::parse_real, scenario::format_real);
    const auto ppm = scenario::parse_percent_ppm(line);
    fuzz::require(ppm ? *ppm.value >= 0 : !ppm.error.empty());
  }
  return 0;
}
