// SPDX-License-Identifier: Apache-2.0
// Plots as SVG text: lines and points over linear, logarithmic or categorical axes.
//
// Deterministic: own logarithm, fixed decimals, no dates, no identifiers. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hvsim::report {

enum class axis_scale {
  linear,
  log,      ///< base 10; every value must be positive
  category  ///< x only: positions 0, 1, 2, ... of `plot_axis::categories`
};

struct plot_axis {
  std::string label;
  axis_scale scale = axis_scale::linear;
  std::optional<double> min{};            ///< default: from the data, rounded outwards
  std::optional<double> max{};            ///< default: from the data, rounded outwards
  std::vector<double> ticks{};            ///< empty: chosen (1-2-5 steps)
  std::vector<std::string> categories{};  ///< for axis_scale::category
};

enum class plot_mark {
  line,           ///< a polyline
  dashed,         ///< a dashed polyline
  filled_circle,  ///< points
  open_diamond,   ///< points
  bar             ///< upright bars; several bar series stand side by side
};

struct plot_series {
  std::string label;
  plot_mark mark = plot_mark::line;
  int colour = 0;  ///< index into a palette that colour-blind readers can tell apart
  std::vector<std::pair<double, double>> points;
};

struct plot {
  std::string title;
  std::string subtitle;  ///< smaller, under the title; may be empty
  plot_axis x;
  plot_axis y;
  std::vector<plot_series> series;
  int width = 760;   ///< pixels
  int height = 500;  ///< pixels
};

/// A mapping of data to pixels of one axis, as to_svg uses it.
struct axis_map {
  axis_scale scale = axis_scale::linear;
  double low = 0, high = 1;                 ///< data at the ends
  double from = 0, to = 1;                  ///< pixels at `low` and at `high`
  std::vector<double> ticks;                ///< labelled positions, in data
  [[nodiscard]] double at(double v) const;  ///< pixel of a data value
};

/// The two mappings of a plot. Throws std::logic_error if there is nothing to show or a
/// logarithmic axis meets a value that is not positive.
std::pair<axis_map, axis_map> axes_of(const plot& p);

/// The whole picture. Throws as axes_of.
std::string to_svg(const plot& p);

/// log10 by basic arithmetic alone, so that every host gets the same bits. v must be positive.
double portable_log10(double v);

}  // namespace hvsim::report
