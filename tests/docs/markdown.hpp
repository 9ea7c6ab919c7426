// SPDX-License-Identifier: Apache-2.0
// What the checks of the documentation read out of Markdown.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace docs {

inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Targets of the links and images of a page, as written.
inline std::vector<std::string> links_of(const std::string& page) {
  static const std::regex link(R"(\]\(([^)\s]+)\))");
  std::vector<std::string> out;
  for (std::sregex_iterator it(page.begin(), page.end(), link), end; it != end; ++it)
    out.push_back((*it)[1]);
  return out;
}

struct code_block {
  std::string language;
  std::string source;  ///< PATH of "<!-- file: PATH -->" on the line before; or empty
  std::string text;
};

/// The fenced blocks of a page.
inline std::vector<code_block> blocks_of(const std::string& page) {
  static const std::regex from(R"(^<!-- file: (\S+) -->$)");
  std::vector<code_block> out;
  std::istringstream in(page);
  std::string before;
  bool inside = false;
  for (std::string line; std::getline(in, line); before = line) {
    if (line.starts_with("```")) {
      inside = !inside;
      if (!inside) continue;
      std::smatch m;
      const bool named = std::regex_match(before, m, from);
      out.push_back({line.substr(3), named ? m[1].str() : std::string(), {}});
    } else if (inside) {
      out.back().text += line + "\n";
    }
  }
  return out;
}

/// What a diff block says must be in a file: the lines of one hunk that are kept or removed.
struct hunk {
  std::string file;
  std::string before;
};

/// The hunks of a diff in the short form of these pages: "+++ FILE", then hunks that "@@" divides.
inline std::vector<hunk> hunks_of(const std::string& diff) {
  std::vector<hunk> out;
  std::string file;
  std::istringstream in(diff);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("+++ ")) {
      file = line.substr(4);
      out.push_back({file, {}});
    } else if (line.starts_with("@@")) {
      out.push_back({file, {}});
    } else if (line.starts_with(" ") || line.starts_with("-")) {
      if (out.empty()) throw std::runtime_error("a diff that names no file");
      out.back().before += line.substr(1) + "\n";
    }
  }
  return out;
}

/// Text with each run of white space as one blank, so that line breaks and alignment do not matter.
inline std::string squeezed(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n';
    if (!blank)
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  }
  if (out.ends_with(' ')) out.pop_back();
  return out;
}

}  // namespace docs
