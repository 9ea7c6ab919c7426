// SPDX-License-Identifier: Apache-2.0
#include "sim/report/time_text.hpp"

#include <fmt/format.h>

#include <array>
#include <stdexcept>

namespace hvsim::report {
namespace {

__extension__ using wide = unsigned __int128;

constexpr std::array<std::int64_t, 13> power_of_ten = {1,
                                                       10,
                                                       100,
                                                       1'000,
                                                       10'000,
                                                       100'000,
                                                       1'000'000,
                                                       10'000'000,
                                                       100'000'000,
                                                       1'000'000'000,
                                                       10'000'000'000,
                                                       100'000'000'000,
                                                       1'000'000'000'000};

/// `n` hundredths (or tenths, ...) as text with a decimal point before the last `digits`.
std::string with_point(std::uint64_t n, int digits) {
  if (digits == 0) return fmt::format("{}", n);
  const auto base = static_cast<std::uint64_t>(power_of_ten.at(static_cast<std::size_t>(digits)));
  return fmt::format("{}.{:0{}}", n / base, n % base, digits);
}

}  // namespace

std::string time_in(engine::duration time, engine::duration unit, int digits) {
  if (digits < 0 || digits > 12) throw std::logic_error("time_in: digits out of 0..12");
  const std::int64_t base = power_of_ten.at(static_cast<std::size_t>(digits));
  if (unit.ps() <= 0 || unit.ps() % base != 0)
    throw std::logic_error("time_in: the unit is not a multiple of the last digit");
  const auto step = static_cast<std::uint64_t>(unit.ps() / base);
  const bool negative = time.ps() < 0;
  const auto magnitude =
      negative ? 0 - static_cast<std::uint64_t>(time.ps()) : static_cast<std::uint64_t>(time.ps());
  const std::uint64_t rounded = magnitude / step + (magnitude % step >= step - step / 2 ? 1 : 0);
  return fmt::format("{}{}", negative && rounded != 0 ? "-" : "", with_point(rounded, digits));
}

std::string seconds_text(engine::duration time, int digits) {
  return time_in(time, engine::seconds(1), digits);
}

std::string scaled_text(engine::duration time) {
  struct unit {
    engine::duration size;
    const char* name;
    int digits;
  };
  static constexpr std::array<unit, 4> units = {{{engine::seconds(1), "s", 2},
                                                 {engine::milliseconds(1), "ms", 2},
                                                 {engine::microseconds(1), "us", 2},
                                                 {engine::nanoseconds(1), "ns", 0}}};
  for (const unit& u : units)
    if (time >= u.size) return fmt::format("{} {}", time_in(time, u.size, u.digits), u.name);
  return fmt::format("{} ps", time.ps());
}

std::string percent_text(std::int64_t part, std::int64_t whole, int digits) {
  if (part < 0 || whole < 0) throw std::logic_error("percent_text: negative share");
  if (digits < 0 || digits > 6) throw std::logic_error("percent_text: digits out of 0..6");
  if (whole == 0) return with_point(0, digits);
  const wide w = static_cast<wide>(whole);
  const wide scaled = static_cast<wide>(part) * 100 *
                      static_cast<wide>(power_of_ten.at(static_cast<std::size_t>(digits)));
  return with_point(static_cast<std::uint64_t>((scaled + w / 2) / w), digits);
}

}  // namespace hvsim::report
