// SPDX-License-Identifier: Apache-2.0
// A reproduction for programs: CSV, JSON, plots and the files of a directory.
#include <fmt/format.h>

#include "sim/experiment/reproduce_render.hpp"
#include "sim/report/atomic_file.hpp"
#include "sim/report/render.hpp"
#include "sim/report/table.hpp"
#include "sim/report/time_text.hpp"

namespace hvsim::experiment {
namespace {

using json = nlohmann::ordered_json;

/// Microseconds are the last digit in every unit.
std::string exact_text(engine::duration t, table_unit unit) {
  return unit == table_unit::milliseconds ? report::time_in(t, engine::milliseconds(1), 3)
                                          : report::time_in(t, engine::seconds(1), 6);
}

json optional_json(const std::optional<double>& v) {
  return v ? json(fmt::format("{:.3f}", *v)) : json(nullptr);
}

json cell_json(const reproduction& r, const published_table& table, const published_series& series,
               const reproduced_cell& c) {
  json out = {{"x", table.xs[c.x]}, {"role", name_of(c.role)}};
  out["simulated_ps"] = c.simulated ? json(c.simulated->ps()) : json(nullptr);
  if (c.value && !c.simulated) out["simulated"] = *c.value;
  out["published"] = json::object();
  out["error_percent"] = json::object();
  for (std::size_t i = 0; i < r.paper.runs.size(); ++i) {
    if (!series.values[i][c.x]) continue;
    out["published"][r.paper.runs[i].key] = series.values[i][c.x]->text;
    out["error_percent"][r.paper.runs[i].key] = optional_json(c.run_errors[i]);
  }
  out["outside_percent"] = optional_json(c.outside);
  out["seed_spread_percent"] = fmt::format("{:.3f}", c.seed_spread);
  out["breakdown_ps"] = json::object();
  for (const auto& part : c.breakdown) out["breakdown_ps"][part.name] = part.time.ps();
  return out;
}

json speed_up_json(const reproduction& r, const reproduced_table& t) {
  const published_table& table = r.paper.tables[t.table];
  json out = json::array();
  for (std::size_t x = 0; x < table.xs.size(); ++x) {
    const speed_up s = speed_up_at(r.paper, t, x);
    json row = {{"x", table.xs[x]}, {"simulated", optional_json(s.simulated)}};
    row["published"] = json::object();
    for (std::size_t i = 0; i < r.paper.runs.size(); ++i)
      if (s.published[i]) row["published"][r.paper.runs[i].key] = optional_json(s.published[i]);
    out.push_back(std::move(row));
  }
  return out;
}

json errors_json(const error_summary& e) {
  return {{"cells", e.cells},
          {"mean_percent", fmt::format("{:.3f}", e.mean)},
          {"worst_percent", fmt::format("{:.3f}", e.worst)}};
}

json summary_json(const reproduction& r, const reproduced_series& s) {
  json out;
  for (const auto& [name, role] : {std::pair<const char*, std::optional<cell_role>>{"all", {}},
                                   {"fitted", cell_role::fitted},
                                   {"predicted", cell_role::predicted}}) {
    json row = {{"outside", errors_json(series_errors(s, role, std::nullopt))}};
    for (std::size_t i = 0; i < r.paper.runs.size(); ++i)
      if (const error_summary e = series_errors(s, role, i); e.cells != 0)
        row[r.paper.runs[i].key] = errors_json(e);
    out[name] = std::move(row);
  }
  return out;
}

json setting_json(const reproduction& r) {
  json out = {{"machine", r.machine},
              {"published_cells", r.setting.cells},
              {"degrees_of_freedom", r.setting.degrees_of_freedom()},
              {"costs", json::array()}};
  for (const fitted_cost& c : r.setting.costs)
    out["costs"].push_back({{"name", short_name(c.key)},
                            {"value", text_of(c, c.value)},
                            {"min", text_of(c, c.min)},
                            {"max", text_of(c, c.max)}});
  return out;
}

}  // namespace

std::string to_csv(const reproduction& r) {
  std::string out = "table,series,x,published,simulated,error_percent,role\n";
  for (const reproduced_table& t : r.tables) {
    if (t.placement != r.tables.front().placement) continue;
    const published_table& table = r.paper.tables[t.table];
    for (const reproduced_series& s : t.series)
      for (const reproduced_cell& c : s.cells) {
        if (!c.value) continue;
        const published_value& value = *shown_value(table.series[s.series], c.x);
        out += report::csv_line(
            {table.key, table.series[s.series].key, fmt::format("{}", table.xs[c.x]), value.text,
             c.simulated ? exact_text(*c.simulated, table.unit) : fmt::format("{:.2f}", *c.value),
             value.value == 0 ? "" : fmt::format("{:.2f}", error_percent(*c.value, value.value)),
             std::string(name_of(c.role))});
      }
  }
  return out;
}

nlohmann::ordered_json to_json(const reproduction& r) {
  json doc;
  doc["schema_version"] = 1;
  doc["name"] = r.paper.name;
  doc["seeds"] = r.options.seeds;
  doc["scale"] = r.options.scale;
  doc["runs_planned"] = r.planned_runs;
  doc["runs_finished"] = r.runs.size();
  doc["failures"] = r.failures;
  doc["tables"] = json::array();
  for (const reproduced_table& t : r.tables) {
    const published_table& table = r.paper.tables[t.table];
    json entry = {{"table", table.key}, {"placement", t.placement}, {"unit", table.unit_name}};
    entry["series"] = json::array();
    for (const reproduced_series& s : t.series) {
      json column = {{"series", table.series[s.series].key}};
      column["cells"] = json::array();
      for (const reproduced_cell& c : s.cells)
        column["cells"].push_back(cell_json(r, table, table.series[s.series], c));
      column["errors"] = summary_json(r, s);
      entry["series"].push_back(std::move(column));
    }
    entry["speed_up"] = speed_up_json(r, t);
    doc["tables"].push_back(std::move(entry));
  }
  if (!r.setting.costs.empty()) doc["fitted_costs"] = setting_json(r);
  return doc;
}

report::plot to_plot(const reproduction& r, const reproduced_table& t) {
  using report::axis_scale;
  using report::plot_mark;
  const published_table& table = r.paper.tables[t.table];
  report::plot p;
  p.title = table.title;
  p.subtitle = table.subtitle;
  if (!t.placement.empty()) p.subtitle += ", placement " + t.placement;
  p.x = {table.x_name, axis_scale::log, {}, {}, {}, {}};
  for (std::int64_t x : table.xs) p.x.ticks.push_back(static_cast<double>(x));
  p.x.min = p.x.ticks.front();
  p.x.max = p.x.ticks.back();
  p.y = {table.unit == table_unit::milliseconds ? "milliseconds"
         : table.unit == table_unit::seconds    ? "seconds"
                                                : table.unit_name,
         axis_scale::log,
         {},
         {},
         {},
         {}};
  for (const reproduced_series& s : t.series) {
    const published_series& series = table.series[s.series];
    const int colour = static_cast<int>(s.series);
    report::plot_series line{series.label + ", simulated",
                             series.corrects.empty() ? plot_mark::line : plot_mark::dashed,
                             colour,
                             {}};
    for (const reproduced_cell& c : s.cells)
      if (c.value && *c.value > 0)
        line.points.emplace_back(static_cast<double>(table.xs[c.x]), *c.value);
    if (!line.points.empty()) p.series.push_back(std::move(line));
    if (!series.corrects.empty()) continue;
    plot_mark mark = plot_mark::filled_circle;
    for (std::size_t i = 0; i < r.paper.runs.size(); ++i) {
      report::plot_series points{
          fmt::format("{}, {}", series.label, r.paper.runs[i].label), mark, colour, {}};
      for (std::size_t x = 0; x < table.xs.size(); ++x)
        if (series.values[i][x] && series.values[i][x]->value > 0)
          points.points.emplace_back(static_cast<double>(table.xs[x]), series.values[i][x]->value);
      if (points.points.empty()) continue;
      p.series.push_back(std::move(points));
      mark = plot_mark::open_diamond;
    }
  }
  return p;
}

void write_files(const reproduction& r, const std::filesystem::path& dir) {
  report::write_file(dir / (r.paper.name + ".txt"), to_text(r));
  report::write_file(dir / (r.paper.name + ".md"), to_markdown(r));
  report::write_file(dir / (r.paper.name + ".csv"), to_csv(r));
  report::write_file(dir / (r.paper.name + ".json"), to_json(r).dump(2) + "\n");
  std::string tidy = report::csv_header();
  for (const finished_run& run : r.runs) {
    tidy += report::to_csv(run.result, run.name);
    report::write_file(dir / "runs" / (run.name + ".json"),
                       report::to_json(run.result).dump(2) + "\n");
  }
  report::write_file(dir / "runs.csv", tidy);
  for (const reproduced_table& t : r.tables) {
    const std::string& key = r.paper.tables[t.table].key;
    const bool first = t.placement == r.tables.front().placement;
    report::write_file(dir / (first ? key + ".svg" : fmt::format("{}.{}.svg", key, t.placement)),
                       report::to_svg(to_plot(r, t)));
  }
}

}  // namespace hvsim::experiment
