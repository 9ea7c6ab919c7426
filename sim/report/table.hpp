// SPDX-License-Identifier: Apache-2.0
// Small tables of text: the same rows for a terminal, a README and a spreadsheet.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace hvsim::report {

/// Where the text of a column stands in its cell.
enum class align { left, right };

struct column {
  std::string title;
  align where = align::right;
};

/// Rows of cells under named columns. Cells are plain ASCII; widths count bytes.
class table {
 public:
  explicit table(std::vector<column> columns) : columns_(std::move(columns)) {}

  /// Adds one row. A short row is filled with empty cells; a long one throws std::logic_error.
  void add(std::vector<std::string> cells);

  [[nodiscard]] const std::vector<column>& columns() const { return columns_; }
  [[nodiscard]] const std::vector<std::vector<std::string>>& rows() const { return rows_; }

  /// Columns padded to their widest cell and two spaces apart, a title line, no line end blanks.
  [[nodiscard]] std::string to_text(int indent = 0) const;
  /// A GitHub table; '|' in cells is escaped.
  [[nodiscard]] std::string to_markdown() const;
  /// RFC 4180 with "\n" line ends, the titles as the header row.
  [[nodiscard]] std::string to_csv() const;

 private:
  std::vector<column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// One RFC 4180 field: quoted if it holds a comma, a quote or a line end.
std::string csv_field(std::string_view text);

/// One RFC 4180 line with its "\n".
std::string csv_line(const std::vector<std::string>& fields);

}  // namespace hvsim::report
