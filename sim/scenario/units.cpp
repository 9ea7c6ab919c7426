// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/units.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

namespace hvsim::scenario {
namespace {

struct unit {
  std::string_view name;
  std::uint64_t scale;
};

constexpr std::uint64_t k1024 = 1024;
constexpr std::uint64_t k1000 = 1000;

// Largest first within each list, and the preferred spelling before its short form.
constexpr std::array<unit, 9> size_units{{{"TiB", k1024* k1024* k1024* k1024},
                                          {"GiB", k1024* k1024* k1024},
                                          {"MiB", k1024* k1024},
                                          {"KiB", k1024},
                                          {"B", 1},
                                          {"T", k1024* k1024* k1024* k1024},
                                          {"G", k1024* k1024* k1024},
                                          {"M", k1024* k1024},
                                          {"K", k1024}}};
constexpr std::array<unit, 5> time_units{{{"s", k1000* k1000* k1000* k1000},
                                          {"ms", k1000* k1000* k1000},
                                          {"us", k1000* k1000},
                                          {"ns", k1000},
                                          {"ps", 1}}};
constexpr std::array<unit, 9> rate_units{{{"TB/s", k1000* k1000* k1000* k1000},
                                          {"GB/s", k1000* k1000* k1000},
                                          {"MB/s", k1000* k1000},
                                          {"KB/s", k1000},
                                          {"B/s", 1},
                                          {"TiB/s", k1024* k1024* k1024* k1024},
                                          {"GiB/s", k1024* k1024* k1024},
                                          {"MiB/s", k1024* k1024},
                                          {"KiB/s", k1024}}};

struct unit_family {
  registry::value_type type;
  std::string_view noun;     // "size"
  std::string_view example;  // "4GiB"
  std::string_view known;    // for messages
  std::span<const unit> units;
};

constexpr std::array<unit_family, 3> families{
    {{registry::value_type::size, "size", "4GiB", "B, KiB, MiB, GiB, TiB", size_units},
     {registry::value_type::time, "time", "250ns", "ps, ns, us, ms, s", time_units},
     {registry::value_type::rate, "rate", "200GB/s", "B/s, KB/s, MB/s, GB/s, KiB/s, MiB/s, GiB/s",
      rate_units}}};

const unit_family& family(registry::value_type type) {
  for (const auto& f : families)
    if (f.type == type) return f;
  return families[0];
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_but_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

// A long value in a message helps nobody.
std::string shown(std::string_view text) {
  constexpr std::size_t limit = 60;
  std::string out = "'";
  for (char c : text.substr(0, limit))
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  if (text.size() > limit) {
    while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xc0) == 0x80) out.pop_back();
    out += "...";
  }
  return out + "'";
}

// "12.50" as 125 / 10^1: digits without the point and the power of ten below it.
struct decimal {
  std::uint64_t digits = 0;
  std::uint64_t denominator = 1;
};

enum class decimal_status { ok, malformed, overflow };

decimal_status split_decimal(std::string_view text, decimal& out) {
  auto point = text.find('.');
  std::string_view whole = text.substr(0, point);
  std::string_view fraction = point == std::string_view::npos ? "" : text.substr(point + 1);
  if (whole.empty() || (point != std::string_view::npos && fraction.empty()))
    return decimal_status::malformed;
  while (!fraction.empty() && fraction.back() == '0') fraction.remove_suffix(1);
  auto append = [&](std::string_view part) {
    for (char c : part) {
      if (!is_digit(c)) return decimal_status::malformed;
      if (__builtin_mul_overflow(out.digits, std::uint64_t{10}, &out.digits) ||
          __builtin_add_overflow(out.digits, static_cast<std::uint64_t>(c - '0'), &out.digits))
        return decimal_status::overflow;
    }
    return decimal_status::ok;
  };
  if (auto s = append(whole); s != decimal_status::ok) return s;
  if (auto s = append(fraction); s != decimal_status::ok) return s;
  for (std::size_t i = 0; i < fraction.size(); ++i)
    if (__builtin_mul_overflow(out.denominator, std::uint64_t{10}, &out.denominator))
      return decimal_status::overflow;
  return decimal_status::ok;
}

enum class scale_status { ok, not_whole, overflow };

// number * scale as an exact int64.
scale_status scaled(const decimal& number, std::uint64_t scale, std::int64_t& out) {
  std::uint64_t g = std::gcd(scale, number.denominator);
  std::uint64_t multiplier = scale / g;
  std::uint64_t divisor = number.denominator / g;
  if (number.digits % divisor != 0) return scale_status::not_whole;
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(number.digits / divisor, multiplier, &product) ||
      product > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return scale_status::overflow;
  out = static_cast<std::int64_t>(product);
  return scale_status::ok;
}

std::string wrong_unit(std::string_view text, std::string_view number, std::string_view suffix,
                       const unit_family& f) {
  std::string expected = "expected a " + std::string(f.noun) + " such as " + std::string(f.example);
  for (const auto& u : f.units)
    if (same_but_case(u.name, suffix))
      return "unknown unit in " + shown(text) + "; did you mean " + std::string(number) +
             std::string(u.name) + "?";
  for (const auto& other : families) {
    if (other.type == f.type) continue;
    for (const auto& u : other.units)
      if (u.name == suffix)
        return shown(text) + " is a " + std::string(other.noun) + "; " + expected +
               " (units: " + std::string(f.known) + ")";
  }
  std::string message = "unknown unit in " + shown(text);
  if (f.type == registry::value_type::size && suffix.size() == 2 && lower(suffix[1]) == 'b') {
    for (const auto& u : f.units)
      if (u.name.size() == 3 && lower(u.name[0]) == lower(suffix[0]))
        return message + "; did you mean " + std::string(number) + std::string(u.name) + "?";
  }
  return message + "; " + expected + " (units: " + std::string(f.known) + ")";
}

value_or_error<std::int64_t> parse_with_unit(std::string_view text, registry::value_type type,
                                             std::string_view usual_unit) {
  const unit_family& f = family(type);
  std::size_t end = 0;
  while (end < text.size() && (is_digit(text[end]) || text[end] == '.')) ++end;
  std::string_view number = text.substr(0, end);
  std::string_view suffix = text.substr(end);
  while (!suffix.empty() && suffix.front() == ' ') suffix.remove_prefix(1);
  decimal d;
  if (number.empty() || split_decimal(number, d) == decimal_status::malformed) {
    if (!text.empty() && text.front() == '-')
      return {{}, "a " + std::string(f.noun) + " cannot be negative; got " + shown(text)};
    return {{},
            "expected a " + std::string(f.noun) + " such as " + std::string(f.example) + "; got " +
                shown(text)};
  }
  if (number.size() > 1 && number[0] == '0' && is_digit(number[1]))
    return {{}, shown(text) + " starts with a 0: write the number without it"};
  d = {};
  std::string too_large = shown(text) + " is too large: the largest " + std::string(f.noun) +
                          " is about " +
                          (type == registry::value_type::time ? "9223372s" : "8388607TiB");
  if (type == registry::value_type::rate)
    too_large = shown(text) + " is too large: the largest rate is about 9223372TB/s";
  if (split_decimal(number, d) == decimal_status::overflow) return {{}, too_large};
  if (suffix.empty()) {
    if (d.digits == 0) return {0, {}};
    return {{},
            shown(text) + " is a bare number without a unit; did you mean " + std::string(number) +
                std::string(usual_unit) + "? (units: " + std::string(f.known) + ")"};
  }
  auto u =
      std::find_if(f.units.begin(), f.units.end(), [&](const unit& x) { return x.name == suffix; });
  if (u == f.units.end()) return {{}, wrong_unit(text, number, suffix, f)};
  std::int64_t result = 0;
  switch (scaled(d, u->scale, result)) {
    case scale_status::ok:
      return {result, {}};
    case scale_status::overflow:
      return {{}, too_large};
    case scale_status::not_whole:
      break;
  }
  std::string_view base = type == registry::value_type::time   ? "picoseconds"
                          : type == registry::value_type::size ? "bytes"
                                                               : "bytes per second";
  return {{}, shown(text) + " is not a whole number of " + std::string(base)};
}

std::string format_with_unit(std::int64_t n, std::span<const unit> units, std::string_view zero) {
  if (n == 0) return std::string(zero);
  // Unsigned so that the most negative number has a magnitude.
  std::uint64_t magnitude =
      n < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n);
  std::string out;
  for (const auto& u : units) {
    if (magnitude % u.scale != 0) continue;
    if (n < 0) out += '-';
    out += std::to_string(magnitude / u.scale);
    out += u.name;
    return out;
  }
  return std::to_string(n);
}

}  // namespace

value_or_error<std::int64_t> parse_size(std::string_view text, std::string_view usual_unit) {
  return parse_with_unit(text, registry::value_type::size, usual_unit);
}
value_or_error<std::int64_t> parse_time(std::string_view text, std::string_view usual_unit) {
  return parse_with_unit(text, registry::value_type::time, usual_unit);
}
value_or_error<std::int64_t> parse_rate(std::string_view text, std::string_view usual_unit) {
  return parse_with_unit(text, registry::value_type::rate, usual_unit);
}

value_or_error<std::int64_t> parse_integer(std::string_view text) {
  std::string_view digits = text;
  bool negative = !digits.empty() && digits.front() == '-';
  if (!digits.empty() && (digits.front() == '-' || digits.front() == '+')) digits.remove_prefix(1);
  int base = 10;
  if (digits.size() > 2 && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X')) {
    base = 16;
    digits.remove_prefix(2);
  } else if (digits.size() > 1 && digits[0] == '0' &&
             std::all_of(digits.begin(), digits.end(), is_digit)) {
    return {{}, shown(text) + " starts with a 0: write it in decimal, or as 0x... in hexadecimal"};
  }
  std::uint64_t magnitude = 0;
  auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, base);
  if (digits.empty() || end != digits.data() + digits.size() || ec == std::errc::invalid_argument)
    return {{}, "expected a whole number; got " + shown(text)};
  constexpr auto limit = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (ec == std::errc::result_out_of_range || magnitude > limit)
    return {{}, shown(text) + " is too large for a whole number (64 bits)"};
  auto n = static_cast<std::int64_t>(magnitude);
  return {negative ? -n : n, {}};
}

value_or_error<double> parse_real(std::string_view text) {
  double v = 0;
  auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (text.empty() || end != text.data() + text.size() || ec == std::errc::invalid_argument ||
      !std::isfinite(v))
    return {{}, "expected a decimal number; got " + shown(text)};
  if (ec == std::errc::result_out_of_range)
    return {{}, shown(text) + " is outside the range of decimal numbers"};
  return {v, {}};
}

value_or_error<std::int64_t> parse_percent_ppm(std::string_view text) {
  std::string example = "expected a percentage such as 2%; got " + shown(text);
  if (text.size() < 2 || text.back() != '%') return {{}, example};
  std::string_view number = text.substr(0, text.size() - 1);
  while (!number.empty() && number.back() == ' ') number.remove_suffix(1);
  decimal d;
  if (split_decimal(number, d) != decimal_status::ok) return {{}, example};
  std::int64_t ppm = 0;
  if (scaled(d, 10'000, ppm) != scale_status::ok)
    return {{}, shown(text) + " is finer than a millionth, or too large"};
  return {ppm, {}};
}

std::string format_size(std::int64_t n) {
  return format_with_unit(n, std::span(size_units).first(5), "0B");
}
std::string format_time(std::int64_t ps) {
  return format_with_unit(ps, time_units, "0ns");
}
std::string format_rate(std::int64_t n) {
  std::string decimal = format_with_unit(n, std::span(rate_units).first(5), "0B/s");
  std::string binary = format_with_unit(n, std::span(rate_units).last(4), "0B/s");
  bool has_unit = binary.find('/') != std::string::npos;
  return has_unit && binary.size() < decimal.size() ? binary : decimal;
}

std::string format_real(double v) {
  std::array<char, 64> buffer{};
  auto [end, ec] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), v);
  return {buffer.data(), end};
}

std::string format_value(registry::value_type type, const registry::value& v) {
  using registry::value_type;
  switch (type) {
    case value_type::boolean:
      return std::get<bool>(v) ? "true" : "false";
    case value_type::integer:
      return std::to_string(std::get<std::int64_t>(v));
    case value_type::size:
      return format_size(std::get<std::int64_t>(v));
    case value_type::time:
      return format_time(std::get<std::int64_t>(v));
    case value_type::rate:
      return format_rate(std::get<std::int64_t>(v));
    case value_type::real:
      return format_real(std::get<double>(v));
    case value_type::list: {
      std::string out = "[";
      for (auto n : std::get<std::vector<std::int64_t>>(v))
        out += std::string(out.size() > 1 ? ", " : "") + std::to_string(n);
      return out + "]";
    }
    case value_type::choice:
    case value_type::text:
    case value_type::structure:
      break;
  }
  return std::get<std::string>(v);
}

std::string_view name_of(registry::value_type type) {
  using registry::value_type;
  switch (type) {
    case value_type::boolean:
      return "boolean";
    case value_type::integer:
      return "integer";
    case value_type::real:
      return "real";
    case value_type::size:
      return "size";
    case value_type::time:
      return "time";
    case value_type::rate:
      return "rate";
    case value_type::choice:
      return "choice";
    case value_type::text:
      return "text";
    case value_type::list:
      return "list";
    case value_type::structure:
      return "structure";
  }
  return "";
}

std::string describe(registry::value_type type) {
  using registry::value_type;
  switch (type) {
    case value_type::boolean:
      return "true or false";
    case value_type::integer:
      return "a whole number";
    case value_type::real:
      return "a decimal number";
    case value_type::size:
    case value_type::time:
    case value_type::rate: {
      const auto& f = family(type);
      return "a " + std::string(f.noun) + " such as " + std::string(f.example);
    }
    case value_type::choice:
      return "one of a list of words";
    case value_type::text:
      return "text";
    case value_type::list:
      return "a list of whole numbers such as [1, 2, 4]";
    case value_type::structure:
      return "a mapping or a list";
  }
  return "";
}

}  // namespace hvsim::scenario
