// SPDX-License-Identifier: Apache-2.0
#include "sim/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace hvsim::report {
namespace {

std::string padded(const std::string& text, std::size_t width, align where) {
  const std::string blanks(width - std::min(width, text.size()), ' ');
  return where == align::left ? text + blanks : blanks + text;
}

std::string escaped_bars(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

void table::add(std::vector<std::string> cells) {
  if (cells.size() > columns_.size()) throw std::logic_error("table: a row has too many cells");
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::string table::to_text(int indent) const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t width = columns_[c].title.size();
    for (const auto& row : rows_) width = std::max(width, row[c].size());
    widths.push_back(width);
  }
  std::string out;
  const auto line = [&](const auto& cell_of) {
    std::string text(static_cast<std::size_t>(indent), ' ');
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (c != 0) text += "  ";
      text += padded(cell_of(c), widths[c], columns_[c].where);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  };
  line([&](std::size_t c) { return columns_[c].title; });
  for (const auto& row : rows_) line([&](std::size_t c) { return row[c]; });
  return out;
}

std::string table::to_markdown() const {
  std::string out = "|";
  for (const column& c : columns_) out += fmt::format(" {} |", escaped_bars(c.title));
  out += "\n|";
  for (const column& c : columns_) out += c.where == align::left ? " :-- |" : " --: |";
  out += "\n";
  for (const auto& row : rows_) {
    out += "|";
    for (const std::string& cell : row) out += fmt::format(" {} |", escaped_bars(cell));
    out += "\n";
  }
  return out;
}

std::string table::to_csv() const {
  std::vector<std::string> titles;
  for (const column& c : columns_) titles.push_back(c.title);
  std::string out = csv_line(titles);
  for (const auto& row : rows_) out += csv_line(row);
  return out;
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
  return out;
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string out;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i != 0) out += ',';
    out += csv_field(fields[i]);
  }
  return out + "\n";
}

}  // namespace hvsim::report
