// SPDX-License-Identifier: Apache-2.0
// A reproduction for people: text and Markdown.
#include <fmt/format.h>

#include <algorithm>

#include "sim/experiment/reproduce_render.hpp"
#include "sim/report/table.hpp"
#include "sim/report/time_text.hpp"

namespace hvsim::experiment {
namespace {

using report::align;

/// A simulated value in the table's unit: 3 decimals of seconds, 1 of milliseconds.
std::string value_text(const reproduced_cell& c, table_unit unit) {
  if (!c.value) return "-";
  if (!c.simulated) return fmt::format("{:.2f}", *c.value);
  return unit == table_unit::milliseconds
             ? report::time_in(*c.simulated, engine::milliseconds(1), 1)
             : report::time_in(*c.simulated, engine::seconds(1), 3);
}

std::string optional_text(const std::optional<double>& v) {
  return v ? signed_text(*v) + "%" : "-";
}

/// The published runs that this table has values of.
std::vector<std::size_t> runs_of(const published_table& t) {
  std::vector<std::size_t> out;
  for (std::size_t r = 0; !t.series.empty() && r < t.series[0].values.size(); ++r) {
    const bool any = std::any_of(t.series.begin(), t.series.end(), [&](const auto& s) {
      return std::any_of(s.values[r].begin(), s.values[r].end(),
                         [](const auto& v) { return v.has_value(); });
    });
    if (any) out.push_back(r);
  }
  return out;
}

/// x, with the number of its note: "33 [1]".
std::string x_text(const published_table& t, std::size_t x) {
  for (std::size_t i = 0; i < t.notes.size(); ++i)
    if (t.notes[i].x == x) return fmt::format("{} [{}]", t.xs[x], i + 1);
  return fmt::format("{}", t.xs[x]);
}

std::string notes_text(const published_table& t, std::string_view indent) {
  std::string out;
  for (std::size_t i = 0; i < t.notes.size(); ++i)
    out += fmt::format("{}[{}] {}\n", indent, i + 1, t.notes[i].text);
  return out;
}

std::string title_of(const reproduction& r, const reproduced_table& t) {
  const published_table& table = r.paper.tables[t.table];
  return fmt::format("{} ({}), {}{}", table.title, table.key, table.unit_name,
                     t.placement.empty() ? "" : ", placement " + t.placement);
}

std::string series_text(const reproduction& r, const reproduced_table& t,
                        const reproduced_series& s) {
  const published_table& table = r.paper.tables[t.table];
  const published_series& series = table.series[s.series];
  std::vector<report::column> columns = {{table.x_name}, {"simulated"}};
  for (std::size_t run : runs_of(table)) {
    columns.push_back({r.paper.runs[run].label});
    columns.push_back({"error"});
  }
  columns.push_back({"outside"});
  columns.push_back({"role", align::left});
  if (r.options.seeds > 1) columns.push_back({"seeds"});
  report::table out(std::move(columns));
  for (const reproduced_cell& c : s.cells) {
    std::vector<std::string> row = {x_text(table, c.x), value_text(c, table.unit)};
    for (std::size_t run : runs_of(table)) {
      const auto& value = series.values[run][c.x];
      row.push_back(value ? value->text : "-");
      row.push_back(optional_text(c.run_errors[run]));
    }
    row.push_back(optional_text(c.outside));
    row.emplace_back(name_of(c.role));
    if (r.options.seeds > 1)
      row.push_back(fmt::format("{:.1f}%{}", c.seed_spread,
                                c.seed_spread > marked_spread_percent ? " !" : "  "));
    out.add(std::move(row));
  }
  return fmt::format("  {} ({})\n{}", series.label, series.key, out.to_text(4));
}

std::string ratio_text(const std::optional<double>& v) {
  return v ? fmt::format("{:.2f}x", *v) : "-";
}

std::string speed_up_text(const reproduction& r, const reproduced_table& t) {
  const published_table& table = r.paper.tables[t.table];
  if (!table.has_speed_up()) return {};
  std::vector<report::column> columns = {{table.x_name}, {"simulated"}};
  for (std::size_t run : runs_of(table)) columns.push_back({r.paper.runs[run].label});
  report::table out(std::move(columns));
  for (std::size_t x = 0; x < table.xs.size(); ++x) {
    const speed_up s = speed_up_at(r.paper, t, x);
    std::vector<std::string> row = {fmt::format("{}", table.xs[x]), ratio_text(s.simulated)};
    bool any = s.simulated.has_value();
    for (std::size_t run : runs_of(table)) {
      row.push_back(ratio_text(s.published[run]));
      any = any || s.published[run].has_value();
    }
    if (any) out.add(std::move(row));
  }
  return fmt::format("  Speed-up of {} over {}\n{}", table.find(table.changed)->label,
                     table.find(table.baseline)->label, out.to_text(4));
}

/// "lock_wait 61.2%, cmo 20.1%, trap 9.0%": the largest parts of a cell's time. Threads that wait
/// for the others to end the pass limit nothing.
std::string limits_of(const reproduced_cell& c) {
  engine::duration total;
  for (const auto& part : c.breakdown)
    if (part.name != "idle") total += part.time;
  std::string out;
  int shown = 0;
  for (const auto& part : c.breakdown) {
    if (part.name == "idle") continue;
    if (part.time.ps() == 0 || ++shown > 4) break;
    out += fmt::format("{}{} {}%", out.empty() ? "" : ", ", part.name,
                       report::percent_text(part.time.ps(), total.ps(), 1));
  }
  return out.empty() ? "-" : out;
}

std::string limits_text(const reproduction& r, const reproduced_table& t) {
  const published_table& table = r.paper.tables[t.table];
  report::table out({{"series", align::left}, {table.x_name}, {"largest parts", align::left}});
  for (const reproduced_series& s : t.series)
    for (const reproduced_cell& c : s.cells)
      if (c.value)
        out.add({table.series[s.series].label, fmt::format("{}", table.xs[c.x]), limits_of(c)});
  if (out.rows().empty()) return {};
  return "  What limits it (share of the threads' time in the pass, idle time aside)\n" +
         out.to_text(4);
}

std::string summary_text(const reproduction& r, const reproduced_table& t) {
  const published_table& table = r.paper.tables[t.table];
  std::vector<report::column> columns = {
      {"series", align::left}, {"cells", align::left}, {"n"}, {"mean outside"}, {"worst outside"}};
  for (std::size_t run : runs_of(table))
    columns.push_back({"mean against " + r.paper.runs[run].label});
  report::table out(std::move(columns));
  const std::vector<std::pair<std::string, std::optional<cell_role>>> roles = {
      {"all", std::nullopt}, {"fitted", cell_role::fitted}, {"predicted", cell_role::predicted}};
  for (const reproduced_series& s : t.series)
    for (const auto& [name, role] : roles) {
      const error_summary outside = series_errors(s, role, std::nullopt);
      if (outside.cells == 0) continue;
      std::vector<std::string> row = {
          table.series[s.series].label, name, fmt::format("{}", outside.cells),
          fmt::format("{:.1f}%", outside.mean), signed_text(outside.worst) + "%"};
      for (std::size_t run : runs_of(table)) {
        const error_summary e = series_errors(s, role, run);
        row.push_back(e.cells == 0 ? "-" : fmt::format("{:.1f}%", e.mean));
      }
      out.add(std::move(row));
    }
  return "  Mean and worst error\n" + out.to_text(4);
}

report::table setting_table(const cost_setting& setting) {
  report::table out({{"cost", align::left}, {"min"}, {"value"}, {"max"}});
  for (const fitted_cost& c : setting.costs)
    out.add({short_name(c.key), text_of(c, c.min), text_of(c, c.value), text_of(c, c.max)});
  return out;
}

std::string setting_title(const reproduction& r) {
  std::string outside;
  for (const fitted_cost& c : r.setting.costs)
    if (c.value <= c.min || c.value >= c.max)
      outside += (outside.empty() ? "; not between its bounds: " : ", ") + short_name(c.key);
  return fmt::format("Machine {}: {}{}", r.machine,
                     numbers_text(r.setting.costs.size(), r.setting.cells), outside);
}

/// The series that a reduced size leaves out.
std::string left_out_text(const reproduction& r) {
  std::string names;
  for (const reproduced_table& t : r.tables) {
    if (t.placement != r.tables.front().placement) continue;
    const published_table& table = r.paper.tables[t.table];
    for (const published_series& s : table.series)
      if (r.options.scale > 1 && !s.corrects.empty())
        names += fmt::format("{}{} ({})", names.empty() ? "" : "; ", s.label, table.key);
  }
  if (names.empty()) return {};
  return fmt::format("Left out, because fixed times do not shrink with the size: {}.\n", names);
}

std::string head_text(const reproduction& r) {
  std::string out = fmt::format("{}\nSource: {}\n", r.paper.title, r.paper.source);
  for (const published_run& run : r.paper.runs)
    out += fmt::format("  {}: {}\n", run.label, run.source);
  out += "Outside: distance from the interval that the published runs span.\n";
  if (r.options.seeds > 1)
    out += fmt::format("Seeds: {} runs a cell, tables show {}; ! marks more than {} %.\n",
                       r.options.seeds, r.paper.mean_of_seeds > 1 ? "their mean" : "seed 1",
                       marked_spread_percent);
  if (r.options.scale > 1)
    out += fmt::format("Sizes are divided by {} and times multiplied back.\n", r.options.scale);
  out += left_out_text(r);
  return out;
}

}  // namespace

std::string to_text(const reproduction& r) {
  std::string out = head_text(r);
  for (const reproduced_table& t : r.tables) {
    out += "\n" + title_of(r, t) + "\n";
    for (const reproduced_series& s : t.series) out += series_text(r, t, s);
    out += notes_text(r.paper.tables[t.table], "  ");
    out += speed_up_text(r, t) + limits_text(r, t) + summary_text(r, t);
  }
  if (!r.setting.costs.empty())
    out += "\n" + setting_title(r) + "\n" + setting_table(r.setting).to_text(2);
  if (!r.complete())
    out += fmt::format("\n{} of {} runs finished\n", r.runs.size(), r.planned_runs);
  for (const std::string& f : r.failures) out += "failed: " + f + "\n";
  return out;
}

std::string to_markdown(const reproduction& r) {
  std::string out;
  for (const reproduced_table& t : r.tables) {
    const published_table& table = r.paper.tables[t.table];
    std::vector<report::column> columns = {{table.x_name}};
    for (const reproduced_series& s : t.series)
      for (const char* what : {"published", "simulated", "error"})
        columns.push_back({fmt::format("{}: {}", table.series[s.series].label, what)});
    if (table.has_speed_up()) columns.push_back({"speed-up: published"});
    if (table.has_speed_up()) columns.push_back({"simulated"});
    report::table rows(std::move(columns));
    for (std::size_t x = 0; x < table.xs.size(); ++x) {
      std::vector<std::string> row = {x_text(table, x)};
      for (const reproduced_series& s : t.series) {
        const auto c = std::find_if(s.cells.begin(), s.cells.end(),
                                    [&](const auto& cell) { return cell.x == x; });
        if (c == s.cells.end()) {
          row.insert(row.end(), 3, "");
          continue;
        }
        const published_value& value = *shown_value(table.series[s.series], x);
        row.push_back(value.text);
        row.push_back(value_text(*c, table.unit) + (c->role == cell_role::fitted ? " *" : ""));
        row.push_back(c->value ? signed_text(error_percent(*c->value, value.value)) + " %" : "-");
      }
      const speed_up s = speed_up_at(r.paper, t, x);
      const auto first = std::find_if(s.published.begin(), s.published.end(),
                                      [](const auto& v) { return v.has_value(); });
      if (table.has_speed_up()) {
        row.push_back(first == s.published.end() ? "" : ratio_text(*first));
        row.push_back(s.simulated ? ratio_text(s.simulated) : "");
      }
      rows.add(std::move(row));
    }
    out += fmt::format("**{}**\n\n{}\n", title_of(r, t), rows.to_markdown());
    if (!table.notes.empty()) out += notes_text(table, "") + "\n";
  }
  out += "\n\\* setting the costs may use this cell; every other cell is a prediction, not used.\n";
  if (!r.setting.costs.empty())
    out += fmt::format("\n{}\n\n{}", setting_title(r), setting_table(r.setting).to_markdown());
  return out;
}

}  // namespace hvsim::experiment
