// SPDX-License-Identifier: Apache-2.0
// Trees and scenarios back to text.
#include <algorithm>
#include <cstdio>

#include "sim/scenario/parse.hpp"
#include "sim/scenario/render.hpp"
#include "sim/scenario/text.hpp"
#include "sim/scenario/tree.hpp"
#include "sim/scenario/units.hpp"

namespace hvsim::scenario {
namespace {

bool plain(std::string_view text) {
  if (text.empty() || text == "null" || text == "Null" || text == "NULL" || text == "<<")
    return false;
  auto word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '/' || c == '+';
  };
  bool negative = text.size() > 1 && text[0] == '-' && text[1] >= '0' && text[1] <= '9';
  if (!word(text.front()) && !negative) return false;
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return word(c) || c == '-' || c == '%'; });
}

constexpr std::string_view red = "\x1b[1;31m";
constexpr std::string_view bold = "\x1b[1m";
constexpr std::string_view green = "\x1b[1;32m";
constexpr std::string_view reset = "\x1b[0m";

std::string place(const registry::position& p) {
  if (p.line == 0) return p.file;
  return p.file + ":" + std::to_string(p.line) + ":" + std::to_string(p.column);
}

// Spaces up to the column; tabs stay tabs, bytes inside a character count for nothing.
std::string caret_indent(std::string_view line, int column) {
  std::string out;
  for (char c : line.substr(0, static_cast<std::size_t>(std::max(column - 1, 0)))) {
    if ((static_cast<unsigned char>(c) & 0xc0) == 0x80) continue;
    out += c == '\t' ? '\t' : ' ';
  }
  return out;
}

}  // namespace

std::string quote_scalar(std::string_view text, bool always) {
  if (!always && plain(text)) return std::string(text);
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      char buffer[8];
      std::snprintf(buffer, sizeof buffer, "\\x%02x", static_cast<unsigned>(c));
      out += buffer;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string format_node(const registry::node& n) {
  using registry::node;
  std::string out;
  switch (n.what) {
    case node::kind::scalar:
      if (is_null(n)) return "null";
      return quote_scalar(n.scalar, n.quoted);
    case node::kind::sequence:
      for (const auto& item : n.items)
        out += std::string(out.empty() ? "" : ", ") + format_node(item);
      return "[" + out + "]";
    case node::kind::mapping:
      for (const auto& [key, value] : n.members)
        out += std::string(out.empty() ? "" : ", ") + quote_scalar(key.scalar) + ": " +
               format_node(value);
      return "{" + out + "}";
  }
  return out;
}

std::string to_line(const registry::diagnostic& d, severity how) {
  return place(d.where) + (how == severity::error ? ": error: " : ": warning: ") +
         (d.path.empty() ? "" : d.path + ": ") + d.message;
}

std::string to_text(const registry::diagnostic& d, const source_texts& sources, bool color) {
  std::string out;
  if (color) {
    out = std::string(bold) + place(d.where) + ":" + std::string(reset) + " " + std::string(red) +
          "error:" + std::string(reset) + " " +
          (d.path.empty() ? "" : std::string(bold) + d.path + ":" + std::string(reset) + " ") +
          d.message + "\n";
  } else {
    out = to_line(d) + "\n";
  }
  auto it = sources.find(d.where.file);
  if (d.where.line == 0 || it == sources.end()) return out;
  std::string_view line = line_of(it->second, d.where.line);
  constexpr std::size_t widest = 200;
  if (line.empty() || line.size() > widest) return out;
  std::string number = std::to_string(d.where.line);
  std::string margin(number.size(), ' ');
  out += "  " + number + " | " + std::string(line) + "\n";
  out += "  " + margin + " | " + caret_indent(line, d.where.column);
  out += color ? std::string(green) + "^" + std::string(reset) + "\n" : "^\n";
  return out;
}

std::string to_text(const std::vector<registry::diagnostic>& all, const source_texts& sources,
                    bool color) {
  std::string out;
  for (const auto& d : all) out += to_text(d, sources, color);
  return out;
}

std::string to_yaml(const scenario& s) {
  std::string out = "schema_version: 1\n";
  out += "name: " + quote_scalar(s.name) + "\n";
  if (!s.description.empty()) out += "description: " + quote_scalar(s.description) + "\n";
  std::vector<std::string> open;  // the path of mappings that the last line is inside
  for (const auto& [key, text] : s.texts) {
    std::vector<std::string> parts;
    for (std::size_t at = 0; at <= key.size();) {
      auto dot = std::min(key.find('.', at), key.size());
      parts.push_back(key.substr(at, dot - at));
      at = dot + 1;
    }
    std::size_t shared = 0;
    while (shared < open.size() && shared + 1 < parts.size() && open[shared] == parts[shared])
      ++shared;
    open.resize(shared);
    while (open.size() + 1 < parts.size()) {
      out += std::string(2 * open.size(), ' ') + parts[open.size()] + ":\n";
      open.push_back(parts[open.size()]);
    }
    auto v = s.values.all().find(key);
    bool raw =
        s.structures.count(key) != 0 ||
        (v != s.values.all().end() && std::holds_alternative<std::vector<std::int64_t>>(v->second));
    out += std::string(2 * open.size(), ' ') + parts.back() + ": " +
           (raw ? text : quote_scalar(text)) + "\n";
  }
  return out;
}

}  // namespace hvsim::scenario
