// SPDX-License-Identifier: Apache-2.0
// One scalar against one row of a table.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/scenario/units.hpp"

namespace hvsim::scenario {
namespace {

using registry::parameter;
using registry::value;
using registry::value_type;

std::string quoted(std::string_view text) {
  constexpr std::size_t limit = 60;
  std::string out = "'";
  out += text.substr(0, limit);
  out += text.size() > limit ? "...'" : "'";
  return out;
}

// The unit that a bare number most likely lacks: that of the default value.
std::string usual_unit(const parameter& p, std::string_view fallback) {
  auto at = p.default_value.find_last_of("0123456789. ");
  std::string unit = at == std::string::npos ? "" : p.default_value.substr(at + 1);
  return unit.empty() ? std::string(fallback) : unit;
}

std::string bound_text(const parameter& p, double bound) {
  switch (p.type) {
    case value_type::size:
    case value_type::time:
    case value_type::rate:
    case value_type::integer:
    case value_type::list:
      if (std::fabs(bound) < 9.2e18)
        return format_value(p.type == value_type::list ? value_type::integer : p.type,
                            value{static_cast<std::int64_t>(bound)});
      break;
    default:
      break;
  }
  return format_real(bound);
}

// Compares as int64 where the bound fits, so that large integers are not rounded.
bool below(std::int64_t n, double bound) {
  if (bound >= 9.2e18) return true;
  if (bound <= -9.2e18) return false;
  return n < static_cast<std::int64_t>(std::ceil(bound));
}
bool above(std::int64_t n, double bound) {
  if (bound >= 9.2e18) return false;
  if (bound <= -9.2e18) return true;
  return n > static_cast<std::int64_t>(std::floor(bound));
}

template <class T>
std::string out_of_range(const parameter& p, T n, std::string_view text) {
  bool low = false;
  bool high = false;
  if constexpr (std::is_same_v<T, double>) {
    low = p.min && n < *p.min;
    high = p.max && n > *p.max;
  } else {
    low = p.min && below(n, *p.min);
    high = p.max && above(n, *p.max);
  }
  if (!low && !high) return {};
  std::string must = "must be ";
  if (p.min && p.max)
    must += "between " + bound_text(p, *p.min) + " and " + bound_text(p, *p.max);
  else
    must += low ? "at least " + bound_text(p, *p.min) : "at most " + bound_text(p, *p.max);
  return "out of range: " + must + "; got " + std::string(text);
}

template <class T>
value_or_error<value> ranged(const parameter& p, value_or_error<T> v, std::string_view text) {
  if (!v) return {{}, std::move(v.error)};
  std::string error = out_of_range(p, *v.value, text);
  if (!error.empty()) return {{}, error};
  return {value{*v.value}, {}};
}

value_or_error<value> boolean_value(std::string_view text) {
  if (text == "true") return {value{true}, {}};
  if (text == "false") return {value{false}, {}};
  std::string word(text);
  std::transform(word.begin(), word.end(), word.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  std::string hint;
  if (word == "yes" || word == "on" || word == "y" || word == "1" || word == "true")
    hint = "; did you mean true?";
  if (word == "no" || word == "off" || word == "n" || word == "0" || word == "false")
    hint = "; did you mean false?";
  return {{}, "expected true or false; got " + quoted(text) + hint};
}

value_or_error<value> choice_value(const parameter& p, std::string_view text) {
  if (std::find(p.choices.begin(), p.choices.end(), text) != p.choices.end())
    return {value{std::string(text)}, {}};
  return {{}, unknown_word("value", text, p.choices)};
}

value_or_error<value> list_value(const parameter& p, std::string_view text) {
  auto trim = [](std::string_view s) {
    while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
    while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
    return s;
  };
  text = trim(text);
  if (text.size() < 2 || text.front() != '[' || text.back() != ']')
    return {{}, "expected " + describe(p.type) + "; got " + quoted(text)};
  std::string_view rest = trim(text.substr(1, text.size() - 2));
  std::vector<std::int64_t> items;
  while (!rest.empty()) {
    auto comma = rest.find(',');
    std::string_view item = trim(rest.substr(0, comma));
    auto n = parse_integer(item);
    if (!n) return {{}, n.error};
    std::string error = out_of_range(p, *n.value, item);
    if (!error.empty()) return {{}, error};
    items.push_back(*n.value);
    if (comma == std::string_view::npos) break;
    rest = trim(rest.substr(comma + 1));
  }
  return {value{std::move(items)}, {}};
}

}  // namespace

value_or_error<value> parse_value(const parameter& p, std::string_view text) {
  switch (p.type) {
    case value_type::boolean:
      return boolean_value(text);
    case value_type::integer:
      return ranged(p, parse_integer(text), text);
    case value_type::real:
      return ranged(p, parse_real(text), text);
    case value_type::size:
      return ranged(p, parse_size(text, usual_unit(p, "GiB")), text);
    case value_type::time:
      return ranged(p, parse_time(text, usual_unit(p, "ns")), text);
    case value_type::rate:
      return ranged(p, parse_rate(text, usual_unit(p, "GB/s")), text);
    case value_type::choice:
      return choice_value(p, text);
    case value_type::list:
      return list_value(p, text);
    case value_type::text:
    case value_type::structure:
      break;
  }
  return {value{std::string(text)}, {}};
}

namespace {

constexpr std::size_t longest_word = 64;

// Damerau-Levenshtein distance in its restricted form: a swap of neighbours is one slip.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  std::iota(d[0].begin(), d[0].end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t same = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + same});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

}  // namespace

std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  if (word.empty() || word.size() > longest_word) return std::nullopt;
  std::optional<std::string> best;
  std::size_t best_distance = 0;
  for (const auto& c : candidates) {
    if (c.size() > longest_word) continue;
    std::size_t limit = std::max<std::size_t>(1, std::max(word.size(), c.size()) / 3);
    std::size_t d = distance(word, c);
    // The same beginning is a likely slip too: vcpu_cnt for vcpus.
    auto split = std::mismatch(word.begin(), word.end(), c.begin(), c.end());
    auto shared = static_cast<std::size_t>(split.first - word.begin());
    bool prefix = shared >= 3 && shared * 3 >= std::min(word.size(), c.size()) * 2;
    if (d > limit && !prefix) continue;
    if (!best || d < best_distance) {
      best = c;
      best_distance = d;
    }
  }
  return best;
}

std::vector<std::string> nearest_words(std::string_view word,
                                       const std::vector<std::string>& candidates,
                                       std::size_t most) {
  std::vector<std::pair<std::size_t, std::size_t>> order;  // distance and index
  for (std::size_t i = 0; i < candidates.size(); ++i)
    order.emplace_back(distance(word.substr(0, 2 * longest_word), candidates[i]), i);
  std::sort(order.begin(), order.end());
  std::vector<std::string> out;
  for (std::size_t i = 0; i < std::min(most, order.size()); ++i)
    out.push_back(candidates[order[i].second]);
  return out;
}

std::string with_remark(std::string message, std::string_view remark) {
  if (remark.empty()) return message;
  message += message.ends_with('?') ? " " : "; ";
  message += remark;
  return message;
}

std::string with_suggestions(std::string message, const std::vector<std::string>& words) {
  std::string list;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i != 0) list += i + 1 == words.size() ? " or " : ", ";
    list += "'" + words[i] + "'";
  }
  return list.empty() ? message : with_remark(std::move(message), "did you mean " + list + "?");
}

std::string with_known(std::string message, std::string_view word,
                       const std::vector<std::string>& known, std::size_t most) {
  if (const auto near = nearest(word, known))
    message = with_remark(std::move(message), "did you mean '" + *near + "'?");
  if (known.empty()) return message;
  std::string list;
  const std::size_t shown = std::min(known.size(), most);
  for (std::size_t i = 0; i < shown; ++i) list += (i == 0 ? "known: " : ", ") + known[i];
  if (shown < known.size()) list += " and " + std::to_string(known.size() - shown) + " more";
  return with_remark(std::move(message), list);
}

std::string unknown_word(std::string_view what, std::string_view word,
                         const std::vector<std::string>& known) {
  std::string message = "unknown ";
  message += what;
  message += ' ';
  message += quoted(word);
  return with_known(std::move(message), word, known);
}

}  // namespace hvsim::scenario
