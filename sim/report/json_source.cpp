// SPDX-License-Identifier: Apache-2.0
#include "sim/report/json_source.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "sim/scenario/render.hpp"
#include "sim/scenario/text.hpp"

namespace hvsim::report {
namespace {

using json = nlohmann::ordered_json;

/// The words of a place, outermost first.
std::vector<std::string> words_of(json_place at) {
  std::vector<std::string> words;
  for (; !at.empty(); at.pop_back()) words.push_back(at.back());
  std::reverse(words.begin(), words.end());
  return words;
}

bool is_number(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Walks over a text that is known to be JSON.
class walker {
 public:
  explicit walker(std::string_view text) : text_(text) { skip_blanks(); }

  [[nodiscard]] std::size_t offset() const { return at_; }

  /// Goes from a value to the one that `word` names in it; false, and stays, if there is none.
  bool enter(const std::string& word) {
    const std::size_t before = at_;
    if (text_[at_] == '{' ? enter_member(word) : text_[at_] == '[' && enter_item(word)) return true;
    at_ = before;
    return false;
  }

 private:
  void skip_blanks() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }
  void skip(char c) {
    skip_blanks();
    if (text_[at_] == c) ++at_;
    skip_blanks();
  }
  void skip_string() {
    for (++at_; text_[at_] != '"'; ++at_)
      if (text_[at_] == '\\') ++at_;
    ++at_;
  }
  void skip_value() {
    int depth = 0;
    do {
      const char c = text_[at_];
      if (c == '"') {
        skip_string();
      } else if (c == '{' || c == '[') {
        ++depth;
        ++at_;
      } else if (c == '}' || c == ']') {
        --depth;
        ++at_;
      } else if (c == ',' || c == ':') {
        ++at_;
      } else {
        at_ = std::min(text_.find_first_of(" \t\r\n,:]}", at_), text_.size());
      }
      skip_blanks();
    } while (depth != 0);
  }
  // Of a key that comes twice the last one counts, as it does for the parser.
  bool enter_member(const std::string& key) {
    std::optional<std::size_t> found;
    skip('{');
    while (text_[at_] != '}') {
      const std::size_t begin = at_;
      skip_string();
      const std::string_view name = text_.substr(begin, at_ - begin);
      skip(':');
      if (json::parse(name).get<std::string>() == key) found = at_;
      skip_value();
      skip(',');
    }
    if (found) at_ = *found;
    return found.has_value();
  }
  bool enter_item(const std::string& number) {
    std::size_t left = 0;
    if (!is_number(number) ||
        std::from_chars(number.data(), number.data() + number.size(), left).ec != std::errc())
      return false;
    skip('[');
    for (; text_[at_] != ']'; --left) {
      if (left == 0) return true;
      skip_value();
      skip(',');
    }
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// "... parse error at line 1, column 2: syntax error while ..." without its beginning.
std::string reason_of(std::string_view what) {
  const auto column = what.find(", column ");
  const auto colon = column == std::string_view::npos ? column : what.find(": ", column);
  return std::string(colon == std::string_view::npos ? what : what.substr(colon + 2));
}

}  // namespace

std::string path_text(const json_place& at) {
  std::string out;
  for (const std::string& word : words_of(at)) {
    if (is_number(word) && !out.empty())
      out += "[" + word + "]";
    else
      out += (out.empty() ? "" : ".") + word;
  }
  return out;
}

json_source::json_source(std::string file, std::string_view text)
    : file_(std::move(file)), text_(scenario::without_bom(text)) {
  try {
    document_ = json::parse(text_);
  } catch (const json::parse_error& e) {
    const registry::position at = position_of(std::max<std::size_t>(e.byte, 1) - 1);
    throw input_error(scenario::to_line({at, {}, "not JSON: " + reason_of(e.what())}));
  }
}

registry::position json_source::position_of(std::size_t offset) const {
  const std::string_view before = std::string_view(text_).substr(0, offset);
  const auto line_begin = before.rfind('\n') + 1;  // 0 behind npos
  return {file_, static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1,
          static_cast<int>(before.size() - line_begin) + 1};
}

registry::position json_source::where(const json_place& at) const {
  walker w(text_);
  for (const std::string& word : words_of(at))
    if (!w.enter(word)) break;
  return position_of(w.offset());
}

void json_source::refuse(const std::vector<json_problem>& problems) const {
  std::string all;
  for (const json_problem& p : problems)
    all += scenario::to_line({where(p.at), path_text(p.at), p.message}) + "\n";
  throw input_error(all);
}

}  // namespace hvsim::report
