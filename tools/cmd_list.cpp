// SPDX-License-Identifier: Apache-2.0
// hvsim list WHAT
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "sim/guest/backend.hpp"
#include "sim/report/table.hpp"
#include "sim/scenario/parse.hpp"
#include "sim/scenario/units.hpp"
#include "tools/commands.hpp"
#include "tools/embedded.hpp"

namespace hvsim::tools {
namespace {

using json = nlohmann::ordered_json;
using registry::parameter;

const parameter* find_parameter(const registry::catalogue& c, std::string_view key) {
  for (const auto& p : c.common)
    if (p.key == key) return &p;
  return nullptr;
}

json describe_parameter(const parameter& p) {
  json row{{"key", p.key}, {"type", scenario::name_of(p.type)}};
  row["default"] = p.default_value.empty() ? json(nullptr) : json(p.default_value);
  if (p.min) row["min"] = *p.min;
  if (p.max) row["max"] = *p.max;
  if (!p.choices.empty()) row["choices"] = p.choices;
  row["help"] = p.help;
  return row;
}

json parameters_of(const std::vector<parameter>& table) {
  json rows = json::array();
  for (const auto& p : table) rows.push_back(describe_parameter(p));
  return rows;
}

json list_workloads(const registry::catalogue& c) {
  json rows = json::array();
  for (const auto& w : c.workloads)
    rows.push_back(
        {{"name", w.name}, {"help", w.help}, {"parameters", parameters_of(w.parameters)}});
  return rows;
}

json list_presets(const registry::catalogue& c) {
  json rows = json::array();
  for (const auto& k : c.kernels) {
    json switches = json::array();
    for (const auto& [key, value] : k.values) {
      const parameter* p = find_parameter(c, key);
      switches.push_back(
          {{"key", key}, {"value", value}, {"help", p != nullptr ? p->help : std::string()}});
    }
    rows.push_back({{"name", k.name}, {"help", k.help}, {"switches", switches}});
  }
  return rows;
}

json list_machines(const registry::catalogue& c) {
  json rows = json::array();
  for (const auto& [name, text] : c.machines) {
    json row{{"name", name}};
    auto parsed = scenario::parse_machine_text(text, "configs/machines/" + name + ".yaml", c);
    row["help"] = parsed ? parsed.value->description : "(not valid: run hvsim validate)";
    rows.push_back(std::move(row));
  }
  return rows;
}

json list_backends(const registry::catalogue&) {
  json rows = json::array();
  for (const guest::backend_table& t : guest::backend_tables()) {
    json values = json::array();
    const auto add = [&](std::string_view key, json value, guest::evidence kind,
                         std::string_view source) {
      values.push_back(
          {{"key", key}, {"value", value}, {"kind", to_string(kind)}, {"source", source}});
    };
    for (const auto& c : t.costs)
      add(c.name, scenario::format_time(c.value.ps()), c.kind, c.source);
    for (const auto& h : t.habits) add(h.name, "true", h.kind, h.source);
    rows.push_back({{"name", t.name}, {"help", t.help}, {"values", values}});
  }
  return rows;
}

json list_switches(const registry::catalogue& c) {
  json rows = json::array();
  for (const auto& p : c.common)
    if (p.key.starts_with("hypervisor.")) rows.push_back(describe_parameter(p));
  return rows;
}

json list_parameters(const registry::catalogue& c) {
  json rows = parameters_of(c.common);
  for (const auto* table : {&c.topology, &c.costs})
    for (const auto& p : *table) rows.push_back(describe_parameter(p));
  for (const auto& w : c.workloads)
    for (const auto& p : w.parameters) {
      json row = describe_parameter(p);
      row["workload"] = w.name;
      rows.push_back(std::move(row));
    }
  return rows;
}

json list_configs(const registry::catalogue&) {
  json rows = json::array();
  for (const auto& file : embedded_files()) {
    auto tree = scenario::parse_tree(file.text, file.path);
    std::string help;
    if (tree)
      for (const auto& [key, value] : tree.value->members)
        if (key.scalar == "description") help = value.scalar;
    rows.push_back({{"name", file.path}, {"help", help}});
  }
  return rows;
}

// The first line of a text, for one-line listings.
std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::string named_rows(const json& rows) {
  std::size_t width = 0;
  for (const auto& row : rows) width = std::max(width, row["name"].get<std::string>().size());
  std::string out;
  for (const auto& row : rows) {
    std::string line = fmt::format("{:<{}}  {}", row["name"].get<std::string>(), width,
                                   first_line(row["help"].get<std::string>()));
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
    if (row.contains("values"))
      for (const auto& v : row["values"])
        out += fmt::format("    {}: {}  # {}: {}\n", v["key"].get<std::string>(),
                           v["value"].get<std::string>(), v["kind"].get<std::string>(),
                           v["source"].get<std::string>());
    if (!row.contains("switches")) continue;
    for (const auto& s : row["switches"])
      out += fmt::format("    {}: {}  # {}\n", s["key"].get<std::string>(),
                         s["value"].get<std::string>(), s["help"].get<std::string>());
  }
  return out;
}

std::string parameter_rows(const json& rows) {
  std::string out;
  for (const auto& row : rows) {
    std::string value = row["default"].is_null() ? "required" : row["default"].get<std::string>();
    out += row["key"].get<std::string>() + "  (" + row["type"].get<std::string>();
    if (row.contains("choices")) {
      out += ":";
      for (const auto& c : row["choices"]) out += " " + c.get<std::string>();
    }
    out += "; " + (row["default"].is_null() ? value : "default " + value);
    if (row.contains("workload")) out += "; workload " + row["workload"].get<std::string>();
    out += ")\n    " + row["help"].get<std::string>() + "\n";
  }
  return out;
}

/// A cell: text as it is, lists as "a|b", nothing for what a row does not have.
std::string csv_text(const json& row, const std::string& column) {
  const auto at = row.find(column);
  if (at == row.end() || at->is_null()) return {};
  if (at->is_string()) return at->get<std::string>();
  if (!at->is_array()) return at->dump();
  std::string out;
  for (const auto& one : *at) out += (out.empty() ? "" : "|") + one.get<std::string>();
  return out;
}

/// One row for each name or key; what a name consists of is one row each below it, under `key`.
std::string csv_rows(const json& rows) {
  const bool keys = !rows.empty() && rows[0].contains("key");
  std::vector<std::string> columns = {"name", "help"};
  if (keys) columns = {"key", "type", "default", "min", "max", "choices", "workload", "help"};
  const char* parts = nullptr;
  for (const char* member : {"parameters", "switches", "values"})
    if (!keys && !rows.empty() && rows[0].contains(member)) parts = member;
  if (parts != nullptr && std::string(parts) == "parameters")
    columns = {"name", "key", "type", "default", "min", "max", "choices", "help"};
  else if (parts != nullptr && std::string(parts) == "switches")
    columns = {"name", "key", "value", "help"};
  else if (parts != nullptr)
    columns = {"name", "key", "value", "kind", "source", "help"};
  std::string out = report::csv_line(columns);
  const auto add = [&](const json& row) {
    std::vector<std::string> cells;
    for (const std::string& column : columns) cells.push_back(csv_text(row, column));
    out += report::csv_line(cells);
  };
  for (const json& row : rows) {
    add(row);
    if (parts == nullptr) continue;
    for (json part : row[parts]) {
      part["name"] = row["name"];
      add(part);
    }
  }
  return out;
}

}  // namespace

void add_list(CLI::App& app, context& ctx) {
  using maker = std::function<json(const registry::catalogue&)>;
  static const std::map<std::string, maker> lists{
      {"workloads", list_workloads}, {"presets", list_presets},       {"machines", list_machines},
      {"switches", list_switches},   {"parameters", list_parameters}, {"configs", list_configs},
      {"backends", list_backends}};
  std::vector<std::string> names;
  for (const auto& [name, make] : lists) names.push_back(name);
  struct list_arguments {
    std::string what;
    std::string format = "text";
  };
  auto a = std::make_shared<list_arguments>();
  auto* sub = app.add_subcommand("list", "list what a scenario can name");
  sub->add_option("WHAT", a->what, "what to list")->required()->check(CLI::IsMember(names));
  add_format(*sub, a->format, {"text", "json", "csv"});
  sub->callback([&ctx, a] {
    ctx.action = [&ctx, a]() -> int {
      json rows = lists.at(a->what)(ctx.catalogue);
      bool keys = !rows.empty() && rows[0].contains("key");
      write_stdout(a->format == "json"  ? rows.dump(2) + "\n"
                   : a->format == "csv" ? csv_rows(rows)
                   : keys               ? parameter_rows(rows)
                                        : named_rows(rows));
      return exit_ok;
    };
  });
}

}  // namespace hvsim::tools
