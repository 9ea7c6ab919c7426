// SPDX-License-Identifier: Apache-2.0
// A strict little XML reader for tests: elements, attributes, text, the five entities.
#pragma once

#include <cctype>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace hvsim::test {

struct xml_element {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::vector<xml_element> children;
  std::string text;

  [[nodiscard]] std::vector<const xml_element*> all(const std::string& wanted) const {
    std::vector<const xml_element*> out;
    for (const auto& c : children) {
      if (c.name == wanted) out.push_back(&c);
      const auto deeper = c.all(wanted);
      out.insert(out.end(), deeper.begin(), deeper.end());
    }
    return out;
  }
};

/// Throws std::runtime_error at the first thing that is not well-formed.
class xml_reader {
 public:
  explicit xml_reader(std::string text) : s_(std::move(text)) {}

  xml_element document() {
    if (s_.compare(0, 5, "<?xml") == 0) at_ = s_.find("?>") + 2;
    blanks();
    xml_element root = element();
    blanks();
    if (at_ != s_.size()) fail("text after the root");
    return root;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error("xml: " + what + " at " + std::to_string(at_));
  }
  [[nodiscard]] char peek() const { return at_ < s_.size() ? s_[at_] : '\0'; }
  void expect(const std::string& t) {
    if (s_.compare(at_, t.size(), t) != 0) fail("expected " + t);
    at_ += t.size();
  }
  void blanks() {
    while (std::isspace(static_cast<unsigned char>(peek())) != 0) ++at_;
  }
  std::string name() {
    std::string out;
    while (std::isalnum(static_cast<unsigned char>(peek())) != 0 || peek() == '-' || peek() == ':')
      out += s_[at_++];
    if (out.empty()) fail("expected a name");
    return out;
  }
  std::string entity() {
    const auto end = s_.find(';', at_);
    if (end == std::string::npos) fail("open entity");
    const std::string e = s_.substr(at_, end - at_ + 1);
    at_ = end + 1;
    if (e == "&amp;") return "&";
    if (e == "&lt;") return "<";
    if (e == "&gt;") return ">";
    if (e == "&quot;") return "\"";
    if (e.compare(0, 2, "&#") == 0)
      return std::string(1, static_cast<char>(std::stoi(e.substr(2))));
    fail("unknown entity " + e);
  }
  std::string until(char end) {
    std::string out;
    while (peek() != end) {
      if (peek() == '\0') fail("unexpected end");
      if (peek() == '&') {
        out += entity();
        continue;
      }
      if (peek() == '<') fail("bare <");
      if (static_cast<unsigned char>(peek()) < 0x20 && peek() != '\n') fail("control character");
      out += s_[at_++];
    }
    return out;
  }
  xml_element element() {
    xml_element e;
    expect("<");
    e.name = name();
    for (blanks(); peek() != '>' && peek() != '/'; blanks()) {
      const std::string key = name();
      expect("=\"");
      if (!e.attributes.emplace(key, until('"')).second) fail("attribute twice: " + key);
      ++at_;
    }
    if (peek() == '/') {
      expect("/>");
      return e;
    }
    expect(">");
    for (;;) {
      e.text += until('<');
      if (s_.compare(at_, 2, "</") == 0) break;
      e.children.push_back(element());
    }
    expect("</" + e.name + ">");
    return e;
  }

  std::string s_;
  std::size_t at_ = 0;
};

}  // namespace hvsim::test
