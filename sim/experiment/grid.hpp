// SPDX-License-Identifier: Apache-2.0
// Sweeps: every combination of a few values of a few keys.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hvsim::experiment {

/// One axis of a sweep.
struct sweep_axis {
  std::string key;
  std::vector<std::string> values;
  friend bool operator==(const sweep_axis&, const sweep_axis&) = default;
};

/// One cell: a value of each axis, in the order of the axes.
using grid_cell = std::vector<std::pair<std::string, std::string>>;

/// Parses "key=a,b,c". Commas inside brackets belong to the value ("vm.cores=[0,1],[2,3]"). Throws
/// usage_error if the key, a value or '=' is missing, or a value comes twice.
sweep_axis parse_axis(std::string_view text);

/// More cells than anybody waits for.
inline constexpr std::size_t max_grid_cells = 10'000;

/// All cells; the last axis changes fastest. Without axes one empty cell. Throws usage_error if a
/// key has two axes or there are too many cells.
std::vector<grid_cell> grid_cells(const std::vector<sweep_axis>& axes);

/// Throws usage_error if one of `sets` ("key=value") is about a key that `by` (an option, a file)
/// gives values of its own.
void refuse_overwritten(const std::vector<std::string>& sets, const std::vector<std::string>& keys,
                        std::string_view by);

/// The cell as "key=value" strings.
std::vector<std::string> sets_of(const grid_cell& cell);

}  // namespace hvsim::experiment
