// SPDX-License-Identifier: Apache-2.0
// Ranges, ticks and positions of the axes of a plot.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "sim/report/svg.hpp"
#include "sim/report/svg_layout.hpp"

namespace hvsim::report {
namespace {

constexpr double ln10 = 2.302585092994045684;
constexpr double ln2 = 0.693147180559945309;

/// 10^n by multiplication, exact for |n| <= 22 when n >= 0.
double power10(int n) {
  double out = 1;
  for (int i = 0; i < std::abs(n); ++i) out *= 10;
  return n < 0 ? 1 / out : out;
}

/// Largest n with 10^n <= v.
int decade_of(double v) {
  int n = 0;
  while (power10(n + 1) <= v) ++n;
  while (power10(n) > v) --n;
  return n;
}

struct range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void add(double v) {
    low = std::min(low, v);
    high = std::max(high, v);
  }
};

/// Values m * 10^n, m in {1, 2, 5}, within [low, high], a little slack for rounding.
std::vector<double> log_steps(double low, double high) {
  std::vector<double> out;
  for (int n = decade_of(low); power10(n) <= high * 1.000001; ++n)
    for (double m : {1.0, 2.0, 5.0})
      if (const double v = m * power10(n); v >= low * 0.999999 && v <= high * 1.000001)
        out.push_back(v);
  return out;
}

/// The nearest of 1, 2, 5 times a power of ten below (or above) v.
double step_below(double v) {
  const double p = power10(decade_of(v));
  return v >= 5 * p ? 5 * p : v >= 2 * p ? 2 * p : p;
}
double step_above(double v) {
  const double p = power10(decade_of(v));
  return v <= p ? p : v <= 2 * p ? 2 * p : v <= 5 * p ? 5 * p : 10 * p;
}

axis_map log_axis(const plot_axis& a, range data) {
  if (!(data.low > 0)) throw std::logic_error("plot: a logarithmic axis needs positive values");
  axis_map m;
  m.scale = axis_scale::log;
  m.low = a.min.value_or(step_below(data.low));
  m.high = a.max.value_or(step_above(data.high));
  if (!(m.low > 0)) throw std::logic_error("plot: a logarithmic axis needs positive values");
  if (m.high <= m.low) m.high = m.low * 10;
  m.ticks = a.ticks.empty() ? log_steps(m.low, m.high) : a.ticks;
  return m;
}

axis_map linear_axis(const plot_axis& a, range data) {
  axis_map m;
  m.low = a.min.value_or(std::min(0.0, data.low));
  m.high = a.max.value_or(data.high);
  if (m.high <= m.low) m.high = m.low + 1;
  const double step = step_above((m.high - m.low) / 6);
  if (!a.min) m.low = std::floor(m.low / step) * step;
  if (!a.max) m.high = std::ceil(m.high / step) * step;
  m.ticks = a.ticks;
  if (m.ticks.empty())
    for (double i = std::ceil(m.low / step); i * step <= m.high + step / 1e6; ++i)
      m.ticks.push_back(i * step);
  return m;
}

axis_map category_axis(const plot_axis& a) {
  if (a.categories.empty()) throw std::logic_error("plot: a categorical axis without categories");
  axis_map m;
  m.scale = axis_scale::category;
  m.low = -0.5;
  m.high = static_cast<double>(a.categories.size()) - 0.5;
  for (std::size_t i = 0; i < a.categories.size(); ++i) m.ticks.push_back(static_cast<double>(i));
  return m;
}

axis_map map_of(const plot_axis& a, range data) {
  switch (a.scale) {
    case axis_scale::log:
      return log_axis(a, data);
    case axis_scale::category:
      return category_axis(a);
    case axis_scale::linear:
      break;
  }
  return linear_axis(a, data);
}

}  // namespace

double portable_log10(double v) {
  if (!(v > 0)) throw std::logic_error("log10 of a value that is not positive");
  int exponent = 0;
  double m = std::frexp(v, &exponent);  // exact; m in [0.5, 1)
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  // ln m = 2 artanh((m - 1) / (m + 1)); |t| < 0.172, so 12 terms reach the last bit.
  const double t = (m - 1) / (m + 1);
  const double square = t * t;
  double term = t;
  double sum = 0;
  for (int k = 0; k < 12; ++k) {
    sum += term / (2 * k + 1);
    term *= square;
  }
  return (2 * sum + exponent * ln2) / ln10;
}

double axis_map::at(double v) const {
  const bool is_log = scale == axis_scale::log;
  const double lo = is_log ? portable_log10(low) : low;
  const double hi = is_log ? portable_log10(high) : high;
  const double x = is_log ? portable_log10(v) : v;
  return from + (to - from) * ((x - lo) / (hi - lo));
}

std::pair<axis_map, axis_map> axes_of(const plot& p) {
  range xs, ys;
  bool bars = false;
  for (const auto& s : p.series) {
    for (const auto& [x, y] : s.points) {
      xs.add(x);
      ys.add(y);
    }
    bars = bars || s.mark == plot_mark::bar;
  }
  if (!(xs.low <= xs.high)) throw std::logic_error("plot: there are no points to show");
  if (bars && p.y.scale == axis_scale::linear) ys.add(0);
  axis_map x = map_of(p.x, xs);
  axis_map y = map_of(p.y, ys);
  const layout room = layout_of(p);
  x.from = room.left;
  x.to = room.right;
  y.from = room.bottom;
  y.to = room.top;
  return {x, y};
}

}  // namespace hvsim::report
