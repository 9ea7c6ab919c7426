// SPDX-License-Identifier: Apache-2.0
// Where the parts of a plot stand. Shared by the files that make the picture.
#pragma once

#include "sim/report/svg.hpp"

namespace hvsim::report {

/// Edges of the area that holds the data, in pixels from the top left.
struct layout {
  double left, right, top, bottom;
};

inline constexpr double legend_row_height = 20;
inline constexpr int legend_columns = 2;

/// Rows of the legend, which stands under the x axis.
inline int legend_rows(const plot& p) {
  return (static_cast<int>(p.series.size()) + legend_columns - 1) / legend_columns;
}

inline layout layout_of(const plot& p) {
  const double top = p.subtitle.empty() ? 48 : 66;
  return {70, p.width - 24.0, top, p.height - 62 - legend_row_height * legend_rows(p)};
}

}  // namespace hvsim::report
