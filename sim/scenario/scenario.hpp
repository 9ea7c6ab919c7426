// SPDX-License-Identifier: Apache-2.0
// A scenario: everything that decides one run, parsed and checked.
//
// Plain values, immutable once `parse_file` has returned them; read them from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/registry/catalogue.hpp"
#include "sim/registry/node.hpp"
#include "sim/registry/parameter.hpp"

namespace hvsim::scenario {

/// One cost of a machine profile, with where it comes from.
struct cost_info {
  std::string key;  ///< full key, "machine.costs.trap"
  registry::cost_kind kind = registry::cost_kind::none;
  std::string source;                  ///< the publication or measurement, in words
  std::optional<std::int64_t> min;     ///< bounds in base units (ps, bytes, bytes/s, count);
  std::optional<std::int64_t> max;     ///< always present for fitted costs
  std::optional<std::int64_t> spread;  ///< stated spread in parts per thousand
  bool overridden = false;             ///< the scenario replaced the profile's value
};

/// The machine under a run: a profile with the scenario's overrides applied.
struct machine_profile {
  std::string name;
  std::string description;
  registry::value_map values;    ///< keys machine.topology.*, machine.features.*, machine.costs.*
  std::vector<cost_info> costs;  ///< in the order of the catalogue's cost table
};

/// What the numbers of a selector measure.
enum class dimension { time, count, ratio, text };

/// A number in an expectation. Times are picoseconds.
struct quantity {
  dimension what = dimension::count;
  std::int64_t integer = 0;  ///< time (ps) or count
  double real = 0;           ///< ratio; for time and count the same number as `integer`
  std::string text;          ///< as the user wrote it
};

/// Overrides as `--set` takes them: dotted key, value as a user writes it.
using overrides = std::vector<std::pair<std::string, std::string>>;

/// One item of `expect:`. Exactly one of these holds: `equals` alone; `value` with `tolerance`;
/// `min`, `max` or both. With `ratio_to` or `over`/`against` the numbers are ratios.
struct expectation {
  std::string name;      ///< optional label of the item, else equal to `what`
  std::string what;      ///< selector: "time.dirty1", "count.dirty1.fault", "total_time", ...
  std::string ratio_to;  ///< second selector of the same run; empty: none
  overrides over;        ///< numerator run = this scenario with these overrides
  overrides against;     ///< denominator run; non-empty exactly if `over` is
  std::optional<quantity> equals;
  std::optional<quantity> value;
  std::optional<quantity> min;
  std::optional<quantity> max;
  std::int64_t tolerance_ppm = 0;  ///< allowed relative distance from `value`, parts per million
  registry::position where;

  /// True if the check divides two numbers.
  [[nodiscard]] bool is_ratio() const { return !ratio_to.empty() || !over.empty(); }
};

struct scenario {
  std::string name;            ///< `name:` of the file, else the file's stem
  std::string description;     ///< may be empty
  std::string file;            ///< path as given; "<text>" style names for `parse_text`
  registry::value_map values;  ///< every parameter but structures: vm.*, ..., workload.*, machine.*
  std::map<std::string, registry::node, std::less<>> structures;  ///< by full key
  machine_profile machine;
  std::string workload;  ///< `workload.type`
  std::vector<expectation> expectations;
  std::map<std::string, registry::position, std::less<>> positions;  ///< of keys that were written
  /// Every parameter that decides the run as (dotted key, canonical text), sorted by key.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> effective() const;
  /// Where `key` was written; of its nearest written parent else; of the file's start at last.
  [[nodiscard]] registry::position where(std::string_view key) const;
  /// The structure under `key`, or nullptr if it was not written and has no default.
  [[nodiscard]] const registry::node* structure(std::string_view key) const;

  std::map<std::string, std::string, std::less<>> texts;  ///< canonical text by key
};

/// A combination that cannot be. `check` returns what is wrong, or nullopt; the message is shown
/// at `key`. Rules run only on scenarios whose single values are all valid.
struct rule {
  std::string key;
  std::function<std::optional<std::string>(const scenario&)> check;
};

/// Rules that hold for every catalogue (they pass when it lacks the keys they are about).
std::vector<rule> generic_rules();

}  // namespace hvsim::scenario
