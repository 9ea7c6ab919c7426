// SPDX-License-Identifier: Apache-2.0
// Comparisons as stored documents.
#include <fmt/format.h>

#include <algorithm>

#include "sim/experiment/compare.hpp"
#include "sim/report/errors.hpp"

namespace hvsim::experiment {
namespace {

using json = nlohmann::ordered_json;
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

metric_unit unit_from(const std::string& text) {
  for (const metric_unit u : {metric_unit::count, metric_unit::bytes, metric_unit::picoseconds})
    if (text == unit_key(u)) return u;
  throw report::input_error(fmt::format("unknown unit '{}'", text));
}

std::int64_t integer(const json& value, const std::string& where) {
  if (!value.is_number_integer())
    throw report::input_error(
        fmt::format("{}: expected a whole number, got {}", where, value.dump()));
  return value.get<std::int64_t>();
}

/// A baseline with holes would guard less than it seems to.
void require_whole(const comparison& c) {
  std::size_t cells = 1;
  for (const sweep_axis& axis : c.axes) {
    if (axis.values.empty())
      throw report::input_error(fmt::format("axis {} has no values", axis.key));
    cells *= axis.values.size();
  }
  if (c.metrics.empty()) throw report::input_error("no metrics");
  if (c.cells.size() != cells)
    throw report::input_error(
        fmt::format("its axes make {} cells, it has {}", cells, c.cells.size()));
  for (const compared_cell& cell : c.cells)
    for (const std::string& metric : c.metrics)
      if (std::none_of(cell.values.begin(), cell.values.end(),
                       [&](const report::metric& m) { return m.path == metric; })) {
        std::string name;
        for (const auto& [key, value] : cell.at) name += fmt::format("{}={} ", key, value);
        throw report::input_error(fmt::format("cell {}has no {}: {}", name, metric,
                                              cell.error.empty() ? "missing" : cell.error));
      }
}

comparison read(const json& doc) {
  comparison out;
  out.name = doc.at("name").get<std::string>();
  for (const json& axis : doc.at("axes"))
    out.axes.push_back(
        {axis.at("key").get<std::string>(), axis.at("values").get<std::vector<std::string>>()});
  out.metrics = doc.at("metrics").get<std::vector<std::string>>();
  for (const json& cell : doc.at("cells")) {
    compared_cell c;
    for (const auto& [key, value] : cell.at("set").items())
      c.at.emplace_back(key, value.get<std::string>());
    for (const auto& [path, m] : cell.at("metrics").items())
      c.values.push_back(
          {path, integer(m.at("value"), path), unit_from(m.at("unit").get<std::string>())});
    out.cells.push_back(std::move(c));
  }
  return out;
}

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

comparison comparison_from_json(const nlohmann::ordered_json& document) {
  try {
    if (!document.is_object() || document.value("kind", "") != kind_name)
      throw report::input_error("not a stored comparison (expected what compare --save writes)");
    if (!document.contains("schema_version") || document["schema_version"] != json(1) ||
        !document["schema_version"].is_number_integer())
      throw report::input_error("schema_version: this program reads version 1");
    comparison c = read(document);
    require_whole(c);
    return c;
  } catch (const json::exception& e) {
    throw report::input_error(fmt::format("not a whole comparison: {}", e.what()));
  }
}

}  // namespace hvsim::experiment
