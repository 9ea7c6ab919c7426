// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/reproduce.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "sim/experiment/grid.hpp"
#include "sim/report/metrics.hpp"
#include "sim/scenario/units.hpp"

namespace hvsim::experiment {
namespace {

/// The names that the user gave, checked against those that exist; all if none was given.
template <class Items, class Name>
std::vector<std::size_t> chosen(const std::vector<std::string>& wanted, const Items& items,
                                Name name, const std::string& what) {
  std::vector<std::size_t> out;
  std::vector<std::string> known;
  for (const auto& item : items) known.push_back(name(item));
  for (const std::string& w : wanted) {
    const auto at = std::find(known.begin(), known.end(), w);
    if (at == known.end()) {
      throw usage_error(fmt::format("--{}: {}", what, scenario::unknown_word(what, w, known)));
    }
    if (std::count(wanted.begin(), wanted.end(), w) > 1)
      throw usage_error(fmt::format("--{}: '{}' twice", what, w));
    out.push_back(static_cast<std::size_t>(at - known.begin()));
  }
  if (wanted.empty())
    for (std::size_t i = 0; i < known.size(); ++i) out.push_back(i);
  return out;
}

/// "5.18-rc2+x" as part of a file name.
std::string slug(std::string_view text) {
  std::string out;
  for (char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '.';
    out += plain ? c : '-';
  }
  return out;
}

std::vector<report::named_time> largest_first(const report::run_result& r,
                                              const std::string& time) {
  std::vector<report::named_time> parts = r.breakdown;
  for (const auto& p : r.phases)
    if (p.name == time) parts = p.breakdown;
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.time > b.time; });
  return parts;
}

/// What tells the cells of a table apart. An override of it would make them all alike.
std::vector<std::string> varied_keys(const published& paper, const published_table& table,
                                     const reproduce_options& options) {
  std::vector<std::string> out = {table.x_key};
  if (!paper.placement_key.empty()) out.push_back(paper.placement_key);
  if (options.seeds > 1) out.emplace_back("seed");
  if (!table.size_key.empty() && (options.scale > 1 || options.seed_scale > 1))
    out.push_back(table.size_key);
  const auto add = [&](const std::vector<std::string>& sets) {
    for (const std::string& set : sets) out.push_back(set.substr(0, set.find('=')));
  };
  for (const published_series& s : table.series) {
    add(s.sets);
    for (const auto& sets : s.cell_sets) add(sets);
  }
  return out;
}

/// What a cell shows of a run, in the table's unit.
std::optional<double> value_of(const report::run_result& r, const published_table& table,
                               std::int64_t scale) {
  if (table.unit == table_unit::other) return report::find_number(r, table.time);
  const auto time = report::find_time(r, table.time);
  if (!time) return std::nullopt;
  return in_unit(*time * scale, table.unit);
}

/// Where the result of one cell comes from: a run of the batch for each seed.
struct planned_cell {
  std::size_t x;
  std::vector<std::size_t> runs;
};

class reproducer {
 public:
  reproducer(const published& paper, const loader& load, const runner& run,
             const reproduce_options& options)
      : batch_(load, run) {
    out_.paper = paper;
    out_.options = options;
    if (options.scale < 1) throw usage_error("--scale: must be 1 or more");
    if (options.seeds < 1) throw usage_error("--seeds: must be 1 or more");
    if (options.seeds > 1 && options.seeds < paper.mean_of_seeds)
      throw usage_error(fmt::format("--seeds: has no effect: a cell of '{}' is the mean of {} runs",
                                    paper.name, paper.mean_of_seeds));
    out_.options.seeds = std::max(options.seeds, paper.mean_of_seeds);
  }

  reproduction make() {
    plan();
    out_.planned_runs = batch_.size();
    find_setting();
    const std::vector<run_outcome>& outcomes = batch_.run(out_.options.pool);
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      if (outcomes[i].result) out_.runs.push_back({names_.at(i), *outcomes[i].result});
      if (!outcomes[i].error.empty())
        out_.failures.push_back(fmt::format("{}: {}", names_.at(i), outcomes[i].error));
    }
    std::size_t next = 0;
    for (reproduced_table& t : out_.tables)
      for (reproduced_series& s : t.series)
        for (reproduced_cell& c : s.cells) fill(t, s, c, plans_[next++], outcomes);
    return std::move(out_);
  }

 private:
  void plan() {
    const published& paper = out_.paper;
    std::vector<std::string> placements = {""};
    if (!paper.placement_key.empty()) {
      const auto same = [](const std::string& s) { return s; };
      chosen(out_.options.placements, paper.placements, same, "placement");
      placements = out_.options.placements;
      if (placements.empty()) placements = {paper.placements.at(0)};
    }
    const auto tables = chosen(
        out_.options.tables, paper.tables, [](const auto& t) { return t.key; }, "table");
    require_effects(paper, out_.options);
    if (out_.options.seed_scale > 1 && out_.options.seeds == 1)
      throw usage_error("--seed-scale: has no effect without --seeds");
    for (std::size_t t : tables)
      refuse_overwritten(out_.options.sets, varied_keys(paper, paper.tables[t], out_.options),
                         "the comparison");
    for (const std::string& placement : placements)
      for (std::size_t t : tables) plan_table(t, placement);
  }

  void find_setting() {
    if (out_.options.cost_table.empty() || batch_.size() == 0) return;
    const std::size_t cells = fitted_cells(out_.paper, {}).size();
    if (cells == 0) return;
    const scenario::machine_profile& machine = batch_.scenario_of(0).machine;
    out_.machine = machine.name;
    out_.setting = {fitted_costs_of(machine, out_.options.cost_table), cells};
  }

  void plan_table(std::size_t index, const std::string& placement) {
    const published_table& table = out_.paper.tables[index];
    reproduced_table result{index, placement, {}};
    for (std::size_t s = 0; s < table.series.size(); ++s) {
      // A correction adds fixed times, which do not shrink with the size.
      if (out_.options.scale > 1 && !table.series[s].corrects.empty()) continue;
      reproduced_series column{s, {}};
      for (std::size_t x = 0; x < table.xs.size(); ++x) {
        if (shown_value(table.series[s], x) == nullptr) continue;
        column.cells.push_back({});
        column.cells.back().x = x;
        column.cells.back().role = table.series[s].roles[x];
        plans_.push_back(plan_cell(table, table.series[s], x, placement));
      }
      result.series.push_back(std::move(column));
    }
    out_.tables.push_back(std::move(result));
  }

  /// Whether seeds are compared at a reduced size. A correction adds fixed times, which do not
  /// shrink with the size: its seeds are not compared.
  [[nodiscard]] bool compares_small_seeds(const published_table& table,
                                          const published_series& series) const {
    return out_.options.seeds > 1 && out_.options.seed_scale > 1 && !table.size_key.empty() &&
           series.corrects.empty();
  }

  planned_cell plan_cell(const published_table& table, const published_series& series,
                         std::size_t x, const std::string& placement) {
    planned_cell cell{x, {}};
    const bool small_seeds = compares_small_seeds(table, series);
    // The value of the cell comes first; the runs that compare seeds follow, all of one size.
    const bool one_seed = !small_seeds && out_.options.seed_scale > 1;
    const int last = one_seed ? 1 : out_.options.seeds;
    for (int seed = small_seeds ? 0 : 1; seed <= last; ++seed) {
      const std::int64_t scale =
          out_.options.scale * (small_seeds && seed != 0 ? out_.options.seed_scale : 1);
      std::vector<std::string> sets =
          cell_sets(out_.paper, table, series, x, placement, std::max(seed, 1), scale);
      sets.insert(sets.end(), out_.options.sets.begin(), out_.options.sets.end());
      const std::size_t before = batch_.size();
      const std::size_t run = batch_.add(table.scenario, sets, static_cast<double>(table.xs[x]));
      if (batch_.size() > before)
        names_[run] = slug(fmt::format("{}.{}.{}{}{}.seed{}{}", table.key, series.key, table.xs[x],
                                       placement.empty() ? "" : ".", placement, std::max(seed, 1),
                                       scale > 1 ? fmt::format(".scale{}", scale) : ""));
      cell.runs.push_back(run);
    }
    return cell;
  }

  void fill(const reproduced_table& t, const reproduced_series& s, reproduced_cell& c,
            const planned_cell& plan, const std::vector<run_outcome>& outcomes) {
    const published_table& table = out_.paper.tables[t.table];
    const published_series& series = table.series[s.series];
    const std::int64_t scale = table.size_key.empty() ? 1 : out_.options.scale;
    std::vector<double> by_seed;
    for (std::size_t run : plan.runs) {
      if (!outcomes[run].result) continue;
      const auto value = value_of(*outcomes[run].result, table, scale);
      if (!value) {
        out_.failures.push_back(fmt::format("{}: the workload reports no {} '{}'", names_.at(run),
                                            table.unit == table_unit::other ? "number" : "time",
                                            table.time));
        continue;
      }
      if (run != plan.runs.front() || !compares_small_seeds(table, series))
        by_seed.push_back(*value);
      if (run != plan.runs.front()) continue;
      if (const auto time = report::find_time(*outcomes[run].result, table.time))
        c.simulated = *time * scale;
      c.value = value;
      c.breakdown = largest_first(*outcomes[run].result, table.time);
    }
    c.run_errors.resize(out_.paper.runs.size());
    if (!c.value) return;
    if (out_.paper.mean_of_seeds > 1) show_mean(c, by_seed);
    c.seed_spread = spread_percent(by_seed);
    std::vector<double> all;
    for (std::size_t r = 0; r < series.values.size(); ++r) {
      const auto& value = series.values[r][c.x];
      if (!value) continue;
      all.push_back(value->value);
      if (value->value == 0) continue;  // no error in percent of nothing
      c.run_errors[r] = error_percent(*c.value, value->value);
    }
    c.outside = outside_percent(*c.value, all);
  }

  /// A mean of a comparison whose runs differ by chance, as the published ones did.
  static void show_mean(reproduced_cell& c, const std::vector<double>& by_seed) {
    double sum = 0;
    for (const double v : by_seed) sum += v;
    const double mean = sum / static_cast<double>(by_seed.size());
    if (c.simulated && *c.value > 0)
      c.simulated = engine::duration{
          static_cast<std::int64_t>(static_cast<double>(c.simulated->ps()) * mean / *c.value)};
    c.value = mean;
  }

  batch batch_;
  reproduction out_;
  std::vector<planned_cell> plans_;
  std::map<std::size_t, std::string> names_;
};

const reproduced_cell* cell_at(const published& paper, const reproduced_table& t,
                               const std::string& key, std::size_t x) {
  for (const reproduced_series& s : t.series) {
    if (paper.tables[t.table].series[s.series].key != key) continue;
    for (const reproduced_cell& c : s.cells)
      if (c.x == x) return &c;
  }
  return nullptr;
}

}  // namespace

void require_effects(const published& paper, const reproduce_options& options) {
  if (!options.placements.empty() && paper.placement_key.empty())
    throw usage_error(
        fmt::format("--placement: has no effect: '{}' has no placements", paper.name));
  const bool sized = std::any_of(paper.tables.begin(), paper.tables.end(), [&](const auto& t) {
    const bool wanted =
        options.tables.empty() ||
        std::find(options.tables.begin(), options.tables.end(), t.key) != options.tables.end();
    return wanted && !t.size_key.empty();
  });
  for (const auto& [name, scale] :
       {std::pair{"--scale", options.scale}, std::pair{"--seed-scale", options.seed_scale}})
    if (scale > 1 && !sized)
      throw usage_error(fmt::format("{}: has no effect: no table of '{}' names a size to divide",
                                    name, paper.name));
}

double in_unit(engine::duration time, table_unit unit) {
  const auto ps = static_cast<double>(time.ps());
  return unit == table_unit::milliseconds ? ps / 1e9 : ps / 1e12;
}

std::vector<std::string> cell_sets(const published& paper, const published_table& table,
                                   const published_series& series, std::size_t x,
                                   const std::string& placement, int seed, std::int64_t scale,
                                   std::int64_t times) {
  std::vector<std::string> sets = series.sets;
  if (!series.cell_sets.empty())
    sets.insert(sets.end(), series.cell_sets[x].begin(), series.cell_sets[x].end());
  sets.push_back(fmt::format("{}={}", table.x_key, table.xs[x]));
  if (!placement.empty()) sets.push_back(fmt::format("{}={}", paper.placement_key, placement));
  sets.push_back(fmt::format("seed={}", seed));
  if (scale > 1 && !table.size_key.empty()) {
    const auto full = scenario::parse_size(table.size_value);
    if (!full) throw config_error(fmt::format("table '{}': {}", table.key, full.error));
    if (*full.value % scale != 0)
      throw usage_error(fmt::format("--scale: {} does not divide {}", scale, table.size_value));
    sets.push_back(
        fmt::format("{}={}", table.size_key, scenario::format_size(*full.value / scale * times)));
  }
  return sets;
}

reproduction reproduce(const published& paper, const loader& load, const runner& run,
                       const reproduce_options& options) {
  return reproducer(paper, load, run, options).make();
}

const published_value* shown_value(const published_series& s, std::size_t x) {
  for (const auto& run : s.values)
    if (run[x]) return &*run[x];
  return nullptr;
}

error_summary series_errors(const reproduced_series& s, std::optional<cell_role> role,
                            std::optional<std::size_t> run) {
  std::vector<double> errors;
  for (const reproduced_cell& c : s.cells) {
    if (role && c.role != *role) continue;
    const std::optional<double> e = run ? c.run_errors.at(*run) : c.outside;
    if (e) errors.push_back(*e);
  }
  return summarise(errors);
}

speed_up speed_up_at(const published& paper, const reproduced_table& t, std::size_t x) {
  const published_table& table = paper.tables[t.table];
  speed_up out;
  out.published.resize(paper.runs.size());
  const published_series* base = table.find(table.baseline);
  const published_series* changed = table.find(table.changed);
  if (base == nullptr || changed == nullptr || !table.has_speed_up()) return out;
  const auto ratio = [&](double before, double after) -> std::optional<double> {
    if (table.is_rate()) std::swap(before, after);
    if (after > 0) return before / after;
    return std::nullopt;
  };
  for (std::size_t r = 0; r < paper.runs.size(); ++r)
    if (base->values[r][x] && changed->values[r][x])
      out.published[r] = ratio(base->values[r][x]->value, changed->values[r][x]->value);
  const reproduced_cell* a = cell_at(paper, t, table.baseline, x);
  const reproduced_cell* b = cell_at(paper, t, table.changed, x);
  if (a != nullptr && b != nullptr && a->value && b->value)
    out.simulated = ratio(*a->value, *b->value);
  return out;
}

}  // namespace hvsim::experiment
