// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/cell_error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hvsim::experiment {

namespace {

double magnitude(double v) {
  return v < 0 ? -v : v;
}

}  // namespace

double error_percent(double simulated, double published) {
  return 100 * (simulated - published) / published;
}

std::optional<double> outside_percent(double simulated, const std::vector<double>& published) {
  if (published.empty()) return std::nullopt;
  const auto [low, high] = std::minmax_element(published.begin(), published.end());
  if (simulated < *low) return error_percent(simulated, *low);
  if (*high == 0) return std::nullopt;  // no error in percent of nothing
  if (simulated > *high) return error_percent(simulated, *high);
  return 0.0;
}

error_summary summarise(const std::vector<double>& errors) {
  error_summary s;
  s.cells = errors.size();
  double sum = 0;
  for (double e : errors) {
    sum += magnitude(e);
    if (magnitude(e) > magnitude(s.worst)) s.worst = e;
  }
  if (s.cells != 0) s.mean = sum / static_cast<double>(s.cells);
  return s;
}

double spread_percent(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return 100 * (*high - *low) / values.front();
}

std::string signed_text(double percent, int digits) {
  std::string text = fmt::format("{:+.{}f}", percent, digits);
  if (text.find_first_of("123456789") == std::string::npos) text.erase(0, 1);
  return text;
}

}  // namespace hvsim::experiment
