// SPDX-License-Identifier: Apache-2.0
// Published tables as data: what was measured, and which scenario should reproduce each cell.
//
// Plain values; the parser is a pure function and may be called from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hvsim::experiment {

/// Whether setting the costs may use a cell, or may not, so that the cell is a prediction.
enum class cell_role { fitted, predicted };
std::string_view name_of(cell_role role);

/// A published number with the text in which it was published.
struct published_value {
  double value = 0;
  std::string text;
};

/// One time that somebody measured: the same table may have been measured several times.
struct published_run {
  std::string key;
  std::string label;
  std::string source;
};

/// One column of a table, along x.
struct published_series {
  std::string key;
  std::string label;
  std::vector<std::string> sets;  ///< overrides "key=value" of this series
  /// By x: overrides of that cell alone, such as a measured input; empty: none anywhere.
  std::vector<std::vector<std::string>> cell_sets;
  std::string corrects;          ///< key of the series that this one is a correction of; or empty
  std::vector<cell_role> roles;  ///< by x
  /// By run (in the order of `published::runs`), by x; absent where nothing was published.
  std::vector<std::vector<std::optional<published_value>>> values;
};

/// What a reader has to know about the cells at one x.
struct published_note {
  std::size_t x = 0;  ///< index into published_table::xs
  std::string text;
};

enum class table_unit { seconds, milliseconds, other };

struct published_table {
  std::string key;
  std::string title;
  std::string subtitle;
  table_unit unit = table_unit::seconds;
  std::string unit_name;  ///< as written: "s", "ms", "%"
  std::string scenario;   ///< file name of the scenario that every cell starts from
  std::string time;       ///< key of the reported time that is the cell's value
  std::string x_name;     ///< of the axis
  std::string x_key;      ///< parameter that x sets
  std::vector<std::int64_t> xs;
  std::string size_key;    ///< parameter that may be divided for quick fits; empty: none
  std::string size_value;  ///< its full value
  std::string baseline;    ///< series that `changed` is a speed-up over; both empty: none
  std::string changed;
  std::vector<published_series> series;
  std::vector<published_note> notes;  ///< by x, at most one each

  [[nodiscard]] const published_series* find(std::string_view series_key) const;
  /// Values per time ("1/min", "MB/s"): more is better. Of times less is; of the rest, neither.
  [[nodiscard]] bool is_rate() const { return unit_name.find('/') != std::string::npos; }
  /// Whether one series can be a speed-up over another one.
  [[nodiscard]] bool has_speed_up() const {
    return !baseline.empty() && (unit != table_unit::other || is_rate());
  }
};

struct published {
  std::string name;
  std::string title;
  std::string source;
  std::string placement_key;            ///< parameter that decides where vCPUs run; may be empty
  std::vector<std::string> placements;  ///< the first is the usual one
  int mean_of_seeds = 1;                ///< a cell is the mean of runs with the seeds 1 to this
  std::vector<published_run> runs;
  std::vector<published_table> tables;
};

/// Reads a file of configs/published. Throws config_error with every complaint and its position.
published parse_published(std::string_view yaml, const std::string& filename);

}  // namespace hvsim::experiment
