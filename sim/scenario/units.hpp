// SPDX-License-Identifier: Apache-2.0
// Values with units: text to exact integers and back.
//
// Pure functions, exact arithmetic: "1.5GiB" is 1610612736 or an error, never a rounding.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/registry/node.hpp"
#include "sim/registry/parameter.hpp"

namespace hvsim::scenario {

/// A value, or why it is none.
template <class T>
struct value_or_error {
  std::optional<T> value;
  std::string error;
  explicit operator bool() const { return value.has_value(); }
};

/// Bytes from "4GiB", "4G", "512B", "0".
value_or_error<std::int64_t> parse_size(std::string_view text, std::string_view usual_unit = "GiB");
/// Picoseconds from "250ns", "1.5us", "0".
value_or_error<std::int64_t> parse_time(std::string_view text, std::string_view usual_unit = "ns");
/// Bytes per second from "200GB/s", "1.5GiB/s", "0".
value_or_error<std::int64_t> parse_rate(std::string_view text,
                                        std::string_view usual_unit = "GB/s");
/// A whole number, decimal or 0x-hexadecimal.
value_or_error<std::int64_t> parse_integer(std::string_view text);
/// A decimal number; no NaN, no infinity.
value_or_error<double> parse_real(std::string_view text);
/// "2%" or "0.5%" in parts per million (20000, 5000).
value_or_error<std::int64_t> parse_percent_ppm(std::string_view text);

/// Checks type, unit, range and choices of `p` on a scalar as a user writes it. For lists the text
/// is "[1, 2, 4]". Not for structures.
value_or_error<registry::value> parse_value(const registry::parameter& p, std::string_view text);

/// The canonical text of a value: largest unit that keeps it whole ("4GiB", "1500ns").
std::string format_value(registry::value_type type, const registry::value& v);
std::string format_size(std::int64_t bytes);
std::string format_time(std::int64_t ps);
std::string format_rate(std::int64_t bytes_per_second);
/// A double in the shortest form that parses back to it, without locale.
std::string format_real(double v);
/// A tree as one line of YAML flow text.
std::string format_node(const registry::node& n);

/// The word a user knows the type by: "size (such as 4GiB)".
std::string describe(registry::value_type type);
std::string_view name_of(registry::value_type type);

/// The candidate nearest to `word` by edit distance, if near enough to be a slip.
std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

/// At most `most` candidates by edit distance from `word`, however far, ties in the given order.
std::vector<std::string> nearest_words(std::string_view word,
                                       const std::vector<std::string>& candidates,
                                       std::size_t most);

/// "message; did you mean 'x', 'y' or 'z'?"; the message alone without words.
std::string with_suggestions(std::string message, const std::vector<std::string>& words);

/// `message` with one more remark behind it: after "; ", or a blank where it ends in a question.
std::string with_remark(std::string message, std::string_view remark);

/// `message` with "; did you mean 'x'?" if one of `known` is near to `word`, and with what is
/// known: "known: x, y, z", or the first `most` of it "and N more". Every message about an unknown
/// word ends in this way.
std::string with_known(std::string message, std::string_view word,
                       const std::vector<std::string>& known, std::size_t most = 64);

/// "unknown WHAT 'word'; did you mean 'x'? known: x, y, z".
std::string unknown_word(std::string_view what, std::string_view word,
                         const std::vector<std::string>& known);

}  // namespace hvsim::scenario
