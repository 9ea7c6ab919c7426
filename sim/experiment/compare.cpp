// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/experiment/cell_error.hpp"
#include "sim/experiment/known_metrics.hpp"
#include "sim/report/table.hpp"
#include "sim/report/time_text.hpp"
#include "sim/scenario/expect.hpp"
#include "sim/scenario/units.hpp"

namespace hvsim::experiment {
namespace {

__extension__ using wide = __int128;

std::string cell_name(const grid_cell& cell) {
  return cell.empty() ? "(no axes)" : fmt::format("{}", fmt::join(sets_of(cell), " "));
}

/// Every reported time, or the total where the workload reports none.
std::vector<std::string> usual_metrics(const std::vector<report::metric>& all) {
  std::vector<std::string> out;
  for (const auto& m : all)
    if (m.path.compare(0, 5, "time.") == 0) out.push_back(m.path);
  if (out.empty()) out.emplace_back("total_time");
  return out;
}

std::string shown(const report::metric& m) {
  return m.unit == report::metric_unit::picoseconds
             ? report::seconds_text(engine::duration{m.value}) + "s"
             : report::value_text(m);
}

/// "2.71x": the first over the other; "-" without either.
std::string ratio_of(const report::metric* first, const report::metric* other) {
  if (first == nullptr || other == nullptr || other->value == 0) return "-";
  return fmt::format("{:.3f}x",
                     static_cast<double>(first->value) / static_cast<double>(other->value));
}

const report::metric* value_at(const comparison& c, const grid_cell& at, std::size_t metric) {
  for (const compared_cell& cell : c.cells)
    if (cell.at == at && metric < cell.values.size()) return &cell.values[metric];
  return nullptr;
}

std::string text_of(const report::metric* m) {
  return m == nullptr ? "-" : shown(*m);
}

/// The first axis along the columns, the others along the rows.
report::table wide_table(const comparison& c, std::size_t metric) {
  const std::vector<sweep_axis> others(c.axes.begin() + 1, c.axes.end());
  const sweep_axis& across = c.axes.front();
  std::vector<report::column> columns;
  for (const auto& axis : others) columns.push_back({axis.key});
  for (const auto& value : across.values) columns.push_back({value});
  for (std::size_t v = 1; v < across.values.size(); ++v)
    columns.push_back({fmt::format("{} / {}", across.values[0], across.values[v])});
  report::table out(std::move(columns));
  for (const grid_cell& rest : grid_cells(others)) {
    std::vector<std::string> row;
    for (const auto& [key, value] : rest) row.push_back(value);
    std::vector<const report::metric*> values;
    for (const auto& value : across.values) {
      grid_cell at = {{across.key, value}};
      at.insert(at.end(), rest.begin(), rest.end());
      values.push_back(value_at(c, at, metric));
      row.push_back(text_of(values.back()));
    }
    for (std::size_t v = 1; v < values.size(); ++v) row.push_back(ratio_of(values[0], values[v]));
    out.add(std::move(row));
  }
  return out;
}

/// One axis, or none, along the rows.
report::table long_table(const comparison& c, std::size_t metric) {
  report::table out({{c.axes.empty() ? "scenario" : c.axes[0].key, report::align::left},
                     {c.metrics[metric]},
                     {"first / this"}});
  const report::metric* first = c.cells.empty() ? nullptr : value_at(c, c.cells[0].at, metric);
  for (const compared_cell& cell : c.cells) {
    const report::metric* m = value_at(c, cell.at, metric);
    out.add({cell.at.empty() ? c.name : cell.at[0].second, text_of(m), ratio_of(first, m)});
  }
  return out;
}

/// The known paths that share the longest dotted prefix with `path`; all if none shares any.
std::vector<std::string> relatives_of(std::string_view path,
                                      const std::vector<std::string>& known) {
  for (auto dot = path.rfind('.'); dot != std::string_view::npos && dot != 0;
       dot = path.rfind('.', dot - 1)) {
    std::vector<std::string> out;
    for (const auto& k : known)
      if (k.compare(0, dot + 1, path.substr(0, dot + 1)) == 0) out.push_back(k);
    if (!out.empty()) return out;
  }
  return known;
}

/// Before anything runs.
void require_metrics(const std::vector<std::string>& paths) {
  for (auto path = paths.begin(); path != paths.end(); ++path) {
    const auto index = static_cast<std::size_t>(path - paths.begin());
    if (const std::string error = metric_error(*path); !error.empty())
      throw request_error(index, error);
    if (std::find(paths.begin(), path, *path) != path)
      throw request_error(index, fmt::format("'{}' twice", *path));
  }
}

/// Throws request_error if two cells differ in how their values are written alone.
void require_different(const batch& runs, const std::vector<std::size_t>& indices,
                       const std::vector<compared_cell>& cells) {
  std::map<std::vector<std::pair<std::string, std::string>>, std::size_t> seen;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const auto [first, fresh] = seen.emplace(runs.scenario_of(indices[i]).effective(), i);
    if (!fresh)
      throw request_error(
          {}, fmt::format("'{}' and '{}' are the same run", cell_name(cells[first->second].at),
                          cell_name(cells[i].at)));
  }
}

/// As metric_at of one cell; 0 in a phase that only other cells have. What is wrong is the request.
report::metric named_metric(const std::vector<std::vector<report::metric>>& cells, std::size_t cell,
                            const std::vector<std::string>& paths, std::size_t index) {
  const std::string& path = paths[index];
  if (report::find_metric(cells[cell], path) == nullptr)
    for (std::string_view family : {"count.", "breakdown.", "lock.", "exit."})
      for (const auto& other : cells)
        if (const auto* m = report::find_metric(other, path); m && path.starts_with(family))
          return {path, 0, m->unit};
  try {
    return metric_at(cells[cell], path);
  } catch (const config_error& e) {
    throw request_error(index, e.what());
  }
}

}  // namespace

std::string metric_error(std::string_view path) {
  const scenario::selector_info info = scenario::check_selector(path);
  if (!info.what) return info.error;
  if (info.what != scenario::dimension::text) return {};
  return fmt::format(
      "'{}' is no number to compare; known: {}; `hvsim check` holds it to an 'equals'", path,
      fmt::join(scenario::number_selector_roots(), ", "));
}

bool comparison::complete() const {
  return std::none_of(cells.begin(), cells.end(), [](const auto& c) { return c.values.empty(); });
}

report::metric metric_at(const std::vector<report::metric>& all, std::string_view path) {
  if (const report::metric* m = report::find_metric(all, path)) return *m;
  if (const auto zero = zero_metric(all, path)) return *zero;
  std::vector<std::string> known;
  for (const auto& m : all) known.push_back(m.path);
  constexpr std::size_t most_shown = 3;
  throw config_error(scenario::with_suggestions(
      fmt::format("the run has no metric '{}'", path),
      scenario::nearest_words(path, relatives_of(path, known), most_shown)));
}

comparison compare(const compare_request& request, const loader& load, const runner& run) {
  require_metrics(request.metrics);
  std::vector<std::string> varied;
  for (const sweep_axis& axis : request.axes) varied.push_back(axis.key);
  refuse_overwritten(request.sets, varied, request.axes_from);
  batch runs(load, run);
  comparison out;
  out.axes = request.axes;
  out.metrics = request.metrics;
  std::vector<std::size_t> indices;
  for (const grid_cell& cell : grid_cells(request.axes)) {
    std::vector<std::string> sets = request.sets;
    for (std::string& s : sets_of(cell)) sets.push_back(std::move(s));
    indices.push_back(runs.add(request.file, sets));
    out.cells.push_back({cell, {}, {}});
  }
  require_different(runs, indices, out.cells);
  out.name = runs.scenario_of(0).name;
  const std::vector<run_outcome>& outcomes = runs.run(request.pool);
  std::vector<std::vector<report::metric>> all(indices.size());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    out.cells[i].error = outcomes[indices[i]].error;
    out.cells[i].cause = outcomes[indices[i]].cause;
    if (outcomes[indices[i]].result) all[i] = report::metrics(*outcomes[indices[i]].result);
    if (out.metrics.empty() && !all[i].empty()) out.metrics = usual_metrics(all[i]);
  }
  for (std::size_t i = 0; i < indices.size(); ++i)
    for (std::size_t m = 0; m < out.metrics.size(); ++m)
      if (!all[i].empty()) out.cells[i].values.push_back(named_metric(all, i, out.metrics, m));
  return out;
}

std::string to_text(const comparison& c) {
  std::string out;
  for (std::size_t m = 0; m < c.metrics.size(); ++m) {
    const report::table t = c.axes.size() > 1 ? wide_table(c, m) : long_table(c, m);
    out += fmt::format("{}{}: {}\n{}", m == 0 ? "" : "\n", c.name, c.metrics[m], t.to_text(2));
  }
  for (const compared_cell& cell : c.cells)
    if (!cell.error.empty()) out += fmt::format("failed: {}: {}\n", cell_name(cell.at), cell.error);
  return out;
}

std::string to_csv(const comparison& c) {
  std::vector<std::string> head;
  for (const auto& axis : c.axes) head.push_back(axis.key);
  for (const char* name : {"metric", "value", "unit"}) head.emplace_back(name);
  std::string out = report::csv_line(head);
  for (const compared_cell& cell : c.cells)
    for (const report::metric& m : cell.values) {
      std::vector<std::string> row;
      for (const auto& [key, value] : cell.at) row.push_back(value);
      row.push_back(m.path);
      row.push_back(report::value_text(m));
      row.emplace_back(report::unit_text(m.unit));
      out += report::csv_line(row);
    }
  return out;
}

std::vector<deviation> deviations(const comparison& now, const comparison& baseline,
                                  std::int64_t tolerance_ppm) {
  std::vector<deviation> out;
  for (const compared_cell& old : baseline.cells) {
    const auto cell = std::find_if(now.cells.begin(), now.cells.end(),
                                   [&](const auto& c) { return c.at == old.at; });
    if (cell == now.cells.end() || cell->values.empty()) {
      out.push_back({cell_name(old.at), "", "a finished run", "missing", ""});
      continue;
    }
    for (const report::metric& before : old.values) {
      const report::metric* after = report::find_metric(cell->values, before.path);
      if (after == nullptr || after->unit != before.unit) {
        out.push_back({cell_name(old.at), before.path, shown(before), "missing", ""});
        continue;
      }
      const wide difference = wide{after->value} - before.value;
      const wide allowed =
          wide{tolerance_ppm} * (before.value < 0 ? -wide{before.value} : before.value);
      if ((difference < 0 ? -difference : difference) * 1'000'000 <= allowed) continue;
      const std::string change = before.value == 0
                                     ? ""
                                     : signed_text(error_percent(static_cast<double>(after->value),
                                                                 static_cast<double>(before.value)),
                                                   2) +
                                           "%";
      out.push_back({cell_name(old.at), before.path, shown(before), shown(*after), change});
    }
  }
  return out;
}

std::string to_text(const std::vector<deviation>& all) {
  if (all.empty()) return "no deviation from the baseline\n";
  report::table t({{"cell", report::align::left},
                   {"metric", report::align::left},
                   {"baseline"},
                   {"now"},
                   {"change"}});
  for (const deviation& d : all) t.add({d.cell, d.metric, d.expected, d.got, d.change});
  return t.to_text();
}

}  // namespace hvsim::experiment
