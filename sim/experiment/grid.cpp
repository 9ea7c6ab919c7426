// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/grid.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/experiment/source.hpp"

namespace hvsim::experiment {
namespace {

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

std::vector<std::string> split_outside_brackets(std::string_view text) {
  std::vector<std::string> out(1);
  int depth = 0;
  for (char c : text) {
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (c == ',' && depth == 0)
      out.emplace_back();
    else
      out.back() += c;
  }
  for (std::string& value : out) value = trimmed(value);
  return out;
}

}  // namespace

sweep_axis parse_axis(std::string_view text) {
  const auto equals = text.find('=');
  sweep_axis axis;
  if (equals != std::string_view::npos) axis.key = trimmed(text.substr(0, equals));
  if (axis.key.empty())
    throw usage_error(fmt::format("--vary '{}': expected KEY=VALUE,VALUE,...", text));
  axis.values = split_outside_brackets(text.substr(equals + 1));
  for (auto v = axis.values.begin(); v != axis.values.end(); ++v) {
    if (v->empty()) throw usage_error(fmt::format("--vary '{}': an empty value", text));
    if (std::find(axis.values.begin(), v, *v) != v)
      throw usage_error(fmt::format("--vary '{}': value '{}' twice", text, *v));
  }
  return axis;
}

std::vector<grid_cell> grid_cells(const std::vector<sweep_axis>& axes) {
  std::vector<grid_cell> cells(1);
  for (auto axis = axes.begin(); axis != axes.end(); ++axis) {
    if (std::any_of(axes.begin(), axis, [&](const auto& a) { return a.key == axis->key; }))
      throw usage_error(fmt::format("--vary: key '{}' twice", axis->key));
    if (cells.size() * axis->values.size() > max_grid_cells)
      throw usage_error(fmt::format("--vary: more than {} combinations", max_grid_cells));
    std::vector<grid_cell> longer;
    for (const grid_cell& cell : cells)
      for (const std::string& value : axis->values) {
        longer.push_back(cell);
        longer.back().emplace_back(axis->key, value);
      }
    cells = std::move(longer);
  }
  return cells;
}

void refuse_overwritten(const std::vector<std::string>& sets, const std::vector<std::string>& keys,
                        std::string_view by) {
  for (const std::string& set : sets) {
    const std::string key = set.substr(0, set.find('='));
    for (const std::string& varied : keys)
      if (key == varied || key.starts_with(varied + "."))
        throw usage_error(
            fmt::format("--set '{}': {} gives '{}' values of its own", set, by, varied));
  }
}

std::vector<std::string> sets_of(const grid_cell& cell) {
  std::vector<std::string> out;
  for (const auto& [key, value] : cell) out.push_back(fmt::format("{}={}", key, value));
  return out;
}

}  // namespace hvsim::experiment
