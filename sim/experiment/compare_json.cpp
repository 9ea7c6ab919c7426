// SPDX-License-Identifier: Apache-2.0
// Comparisons as stored documents.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "sim/experiment/compare.hpp"

namespace hvsim::experiment {
namespace {

using json = nlohmann::ordered_json;
using report::json_place;
using report::metric_unit;

constexpr const char* kind_name = "hvsim comparison";

const char* unit_key(metric_unit u) {
  switch (u) {
    case metric_unit::bytes:
      return "bytes";
    case metric_unit::picoseconds:
      return "ps";
    case metric_unit::count:
      break;
  }
  return "count";
}

std::optional<metric_unit> unit_from(const json& text) {
  for (const metric_unit u : {metric_unit::count, metric_unit::bytes, metric_unit::picoseconds})
    if (text == unit_key(u)) return u;
  return std::nullopt;
}

/// A value in a message.
std::string shown(const json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  return value.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, 60);
}

std::string name_of(const grid_cell& cell) {
  std::string name;
  for (const std::string& set : sets_of(cell)) name += (name.empty() ? "" : " ") + set;
  return name.empty() ? "(no axes)" : name;
}

/// One reading of a document, which goes on behind what is wrong.
class reader {
 public:
  explicit reader(const json& document) : document_(document) {}

  comparison read() {
    comparison out;
    if (!is_comparison()) return out;
    if (const json* name = member(document_, json_place(), "name");
        name != nullptr && is_text(*name, "name"))
      out.name = name->get<std::string>();
    each(document_, json_place(), "axes", [&](const json& axis, const json_place& at) {
      out.axes.push_back(read_axis(axis, at, out.axes));
    });
    each(document_, json_place(), "metrics", [&](const json& metric, const json_place& at) {
      out.metrics.push_back(read_path(metric, at, out.metrics));
    });
    if (complaints_.empty() && out.metrics.empty())
      complain(json_place("/metrics"), "the list is empty; expected a metric");
    each(document_, json_place(), "cells",
         [&](const json& cell, const json_place& at) { out.cells.push_back(read_cell(cell, at)); });
    if (complaints_.empty()) require_whole(out);
    return out;
  }
  [[nodiscard]] const std::vector<report::json_problem>& complaints() const { return complaints_; }

 private:
  static constexpr std::size_t most_complaints = 100;

  void complain(const json_place& at, std::string message) {
    if (complaints_.size() < most_complaints) complaints_.push_back({at, std::move(message)});
  }

  bool is_comparison() {
    const auto kind = document_.is_object() ? document_.find("kind") : document_.end();
    if (!document_.is_object() || kind == document_.end() || *kind != json(kind_name)) {
      complain(json_place("/kind"),
               "not a stored comparison (expected what compare --save writes)");
      return false;
    }
    const json* version = member(document_, json_place(), "schema_version");
    if (version != nullptr && (!version->is_number_integer() || *version != json(1)))
      complain(json_place("/schema_version"),
               "this program reads version 1; got " + shown(*version));
    return complaints_.empty();
  }

  const json* member(const json& object, const json_place& at, const char* key) {
    if (!object.is_object()) {
      complain(at, "expected an object; got " + shown(object));
      return nullptr;
    }
    const auto found = object.find(key);
    if (found != object.end()) return &*found;
    complain(at / key, "missing");
    return nullptr;
  }
  bool is_text(const json& value, const json_place& at) {
    if (value.is_string() && !value.get_ref<const std::string&>().empty()) return true;
    complain(at, "expected text; got " + shown(value));
    return false;
  }
  bool is_text(const json& value, const char* key) { return is_text(value, json_place() / key); }

  /// Calls f(item, its place) for each item of the list under `key`.
  template <class F>
  void each(const json& object, const json_place& at, const char* key, F f) {
    const json* list = member(object, at, key);
    if (list == nullptr) return;
    if (!list->is_array()) return complain(at / key, "expected a list; got " + shown(*list));
    for (std::size_t i = 0; i < list->size(); ++i) f((*list)[i], at / key / i);
  }
  /// Calls f(name, member, its place) for each member of the object under `key`.
  template <class F>
  void each_member(const json& object, const json_place& at, const char* key, F f) {
    const json* members = member(object, at, key);
    if (members == nullptr) return;
    if (!members->is_object())
      return complain(at / key, "expected an object; got " + shown(*members));
    for (const auto& [name, value] : members->items()) f(name, value, at / key / name);
  }

  sweep_axis read_axis(const json& axis, const json_place& at,
                       const std::vector<sweep_axis>& before) {
    sweep_axis out;
    const json* key = member(axis, at, "key");
    if (key == nullptr) return out;
    if (is_text(*key, at / "key")) out.key = key->get<std::string>();
    for (const sweep_axis& other : before)
      if (other.key == out.key) complain(at / "key", fmt::format("key '{}' twice", out.key));
    each(axis, at, "values", [&](const json& value, const json_place& where) {
      if (!is_text(value, where)) return;
      const auto text = value.get<std::string>();
      if (std::find(out.values.begin(), out.values.end(), text) != out.values.end())
        complain(where, fmt::format("value '{}' twice", text));
      out.values.push_back(text);
    });
    if (complaints_.empty() && out.values.empty())
      complain(at / "values", "the list is empty; expected a value");
    return out;
  }

  std::string read_path(const json& metric, const json_place& at,
                        const std::vector<std::string>& before) {
    if (!is_text(metric, at)) return {};
    const auto path = metric.get<std::string>();
    if (const std::string error = metric_error(path); !error.empty()) complain(at, error);
    if (std::find(before.begin(), before.end(), path) != before.end())
      complain(at, fmt::format("'{}' twice", path));
    return path;
  }

  compared_cell read_cell(const json& cell, const json_place& at) {
    compared_cell out;
    each_member(cell, at, "set",
                [&](const std::string& key, const json& value, const json_place& p) {
                  if (is_text(value, p)) out.at.emplace_back(key, value.get<std::string>());
                });
    if (cell.is_object() && cell.contains("error") && cell["error"].is_string())
      out.error = cell["error"].get<std::string>();
    each_member(cell, at, "metrics",
                [&](const std::string& path, const json& m, const json_place& p) {
                  const json* value = member(m, p, "value");
                  const json* unit = value == nullptr ? nullptr : member(m, p, "unit");
                  if (unit == nullptr) return;
                  const auto known = unit_from(*unit);
                  if (!value->is_number_integer())
                    complain(p / "value", "expected a whole number; got " + shown(*value));
                  else if (value->is_number_unsigned() && value->get<std::uint64_t>() >> 63 != 0)
                    complain(p / "value", shown(*value) + " is too large (63 bits)");
                  else if (!known)
                    complain(p / "unit", "expected count, bytes or ps; got " + shown(*unit));
                  else
                    out.values.push_back({path, value->get<std::int64_t>(), *known});
                });
    return out;
  }

  /// A baseline with holes would guard less than it seems to.
  void require_whole(const comparison& c) {
    std::size_t cells = 1;
    for (const sweep_axis& axis : c.axes)
      if ((cells *= axis.values.size()) > max_grid_cells)
        return complain(json_place("/axes"),
                        fmt::format("more than {} combinations", max_grid_cells));
    const std::vector<grid_cell> all = grid_cells(c.axes);
    const std::set<grid_cell> wanted(all.begin(), all.end());
    std::set<grid_cell> seen;
    if (c.cells.size() != wanted.size())
      complain(json_place("/cells"),
               fmt::format("the axes make {} cells; got {}", wanted.size(), c.cells.size()));
    for (std::size_t i = 0; i < c.cells.size(); ++i) {
      const compared_cell& cell = c.cells[i];
      const json_place at = json_place("/cells") / i;
      if (!wanted.contains(cell.at))
        complain(at / "set", fmt::format("the axes make no cell {}", name_of(cell.at)));
      else if (!seen.insert(cell.at).second)
        complain(at / "set", fmt::format("cell {} twice", name_of(cell.at)));
      for (const std::string& metric : c.metrics)
        if (report::find_metric(cell.values, metric) == nullptr)
          complain(at / "metrics" / metric, cell.error.empty() ? "missing" : cell.error);
    }
  }

  const json& document_;
  std::vector<report::json_problem> complaints_;
};

}  // namespace

nlohmann::ordered_json to_json(const comparison& c) {
  json doc = {{"schema_version", 1}, {"kind", kind_name}, {"name", c.name}};
  doc["axes"] = json::array();
  for (const sweep_axis& axis : c.axes)
    doc["axes"].push_back({{"key", axis.key}, {"values", axis.values}});
  doc["metrics"] = c.metrics;
  doc["cells"] = json::array();
  for (const compared_cell& cell : c.cells) {
    json entry = {{"set", json::object()}, {"metrics", json::object()}};
    for (const auto& [key, value] : cell.at) entry["set"][key] = value;
    for (const report::metric& m : cell.values)
      entry["metrics"][m.path] = {{"value", m.value}, {"unit", unit_key(m.unit)}};
    if (!cell.error.empty()) entry["error"] = cell.error;
    doc["cells"].push_back(std::move(entry));
  }
  return doc;
}

comparison comparison_from_json(const report::json_source& source) {
  reader r(source.document());
  comparison c = r.read();
  if (!r.complaints().empty()) source.refuse(r.complaints());
  return c;
}

}  // namespace hvsim::experiment
