// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/text.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "sim/scenario/input.hpp"

namespace hvsim::scenario {
namespace {

// Length of the well-formed UTF-8 sequence at `at` (Unicode 15, table 3-7), or 0.
std::size_t utf8_length(std::string_view s, std::size_t at) {
  auto byte = [&](std::size_t i) {
    return at + i < s.size() ? static_cast<unsigned>(static_cast<unsigned char>(s[at + i])) : 0U;
  };
  auto tail = [&](std::size_t i) { return (byte(i) & 0xc0U) == 0x80U; };
  unsigned b = byte(0);
  if (b < 0x80) return 1;
  if (b < 0xc2) return 0;
  if (b < 0xe0) return tail(1) ? 2 : 0;
  if (b < 0xf0) {
    if (!tail(1) || !tail(2)) return 0;
    if (b == 0xe0 && byte(1) < 0xa0) return 0;  // overlong
    if (b == 0xed && byte(1) > 0x9f) return 0;  // surrogates
    return 3;
  }
  if (b > 0xf4 || !tail(1) || !tail(2) || !tail(3)) return 0;
  if (b == 0xf0 && byte(1) < 0x90) return 0;  // overlong
  if (b == 0xf4 && byte(1) > 0x8f) return 0;  // above U+10FFFF
  return 4;
}

std::string hex_byte(char c) {
  std::array<char, 8> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "0x%02x",
                static_cast<unsigned>(static_cast<unsigned char>(c)));
  return buffer.data();
}

}  // namespace

std::string_view without_bom(std::string_view text) {
  return text.starts_with("\xef\xbb\xbf") ? text.substr(3) : text;
}

std::string not_utf8(char byte, bool utf16_mark) {
  return "byte " + hex_byte(byte) + " is not UTF-8 text" +
         (utf16_mark ? " (UTF-16? save the file as UTF-8)" : "");
}

std::optional<std::string> clean_text(std::string_view raw, const std::string& filename,
                                      sink& out) {
  if (raw.size() > max_file_bytes) {
    out.add({filename, 1, 1}, {},
            "the file has " + std::to_string(raw.size()) + " bytes; at most " +
                std::to_string(max_file_bytes) + " are read");
    return std::nullopt;
  }
  raw = without_bom(raw);
  std::string text;
  text.reserve(raw.size());
  int line = 1;
  std::size_t line_start = 0;
  for (std::size_t i = 0; i < raw.size();) {
    registry::position here{filename, line, static_cast<int>(i - line_start) + 1};
    std::size_t length = utf8_length(raw, i);
    if (length == 0) {
      const bool mark = i == 0 && raw.size() > 1 && (raw[0] == '\xff' || raw[0] == '\xfe');
      out.add(here, {}, not_utf8(raw[i], mark));
      return std::nullopt;
    }
    char c = raw[i];
    if (c == '\r' && i + 1 < raw.size() && raw[i + 1] == '\n') {
      ++i;
      continue;
    }
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f) {
      out.add(here, {}, "control character " + hex_byte(c) + " is not allowed in a file");
      return std::nullopt;
    }
    text.append(raw.substr(i, length));
    i += length;
    if (c == '\n') {
      ++line;
      line_start = i;
    }
  }
  return text;
}

std::string_view line_of(std::string_view text, int line) {
  for (int n = 1; n < line; ++n) {
    auto end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

std::optional<std::string> read_file(const std::string& path, sink& out, std::size_t limit) {
  const bool standard_input = path == "-";
  const std::string name = standard_input ? "<stdin>" : path;
  std::string text;
  try {
    // One byte past the limit is enough to refuse the file.
    text = standard_input ? read_standard_input(limit + 1) : read_bytes(path, limit + 1);
  } catch (const unreadable& e) {
    out.unreadable = true;
    out.add({name, 0, 0}, {}, e.what());
    return std::nullopt;
  }
  if (text.size() > limit) {
    out.add({name, 1, 1}, {}, "the file is larger than " + std::to_string(limit) + " bytes");
    return std::nullopt;
  }
  return text;
}

}  // namespace hvsim::scenario
