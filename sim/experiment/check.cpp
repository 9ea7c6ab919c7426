// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "sim/experiment/compare.hpp"
#include "sim/report/metrics.hpp"
#include "sim/report/table.hpp"
#include "sim/report/time_text.hpp"
#include "sim/scenario/parse.hpp"
#include "sim/scenario/render.hpp"

namespace hvsim::experiment {
namespace {

namespace fs = std::filesystem;
using outcome = check_row::outcome;
using scenario::dimension;
using scenario::expectation;
using scenario::quantity;

__extension__ using wide = __int128;

/// True also for a file that is wrong, so that it is complained about.
bool expects_something(const std::string& path) {
  const auto text = scenario::read_text(path);
  if (!text) return true;
  const auto tree = scenario::parse_tree(*text.value, path);
  if (!tree) return true;
  const auto& members = tree.value->members;
  return std::any_of(members.begin(), members.end(),
                     [](const auto& m) { return m.first.scalar == "expect"; });
}

/// A measured side of an expectation.
struct measured {
  dimension what = dimension::count;
  std::int64_t integer = 0;
  double real = 0;
  std::string text;
};

std::string fingerprint_text(const report::run_result& r) {
  return fmt::format("0x{:016x}", r.fingerprint);
}

measured select(const report::run_result& r, const std::string& selector) {
  if (selector == "fingerprint") return {dimension::text, 0, 0, fingerprint_text(r)};
  const std::vector<report::metric> all = report::metrics(r);
  const report::metric m = metric_at(all, selector);
  const bool time = m.unit == report::metric_unit::picoseconds;
  return {time ? dimension::time : dimension::count, m.value, static_cast<double>(m.value),
          time ? report::seconds_text(engine::duration{m.value}) + "s" : report::value_text(m)};
}

measured ratio(const measured& a, const measured& b) {
  if (b.real == 0) throw config_error("the ratio's second number is 0");
  const double r = a.real / b.real;
  return {dimension::ratio, 0, r, fmt::format("{:.4f}", r)};
}

/// -1, 0, 1 as `got` is below, equal to or above `q`.
int order(const measured& got, const quantity& q) {
  if (got.what == dimension::ratio) return got.real < q.real ? -1 : got.real > q.real ? 1 : 0;
  return got.integer < q.integer ? -1 : got.integer > q.integer ? 1 : 0;
}

bool within(const measured& got, const quantity& q, std::int64_t ppm) {
  if (got.what == dimension::ratio) {
    const double difference = got.real < q.real ? q.real - got.real : got.real - q.real;
    return difference * 1e6 <= static_cast<double>(ppm) * (q.real < 0 ? -q.real : q.real);
  }
  const wide difference = wide{got.integer} - q.integer;
  const wide allowed = wide{ppm} * (q.integer < 0 ? -wide{q.integer} : q.integer);
  return (difference < 0 ? -difference : difference) * 1'000'000 <= allowed;
}

bool holds(const measured& got, const expectation& e) {
  if (e.equals)
    return got.what == dimension::text ? got.text == e.equals->text : order(got, *e.equals) == 0;
  if (e.value) return within(got, *e.value, e.tolerance_ppm);
  if (e.min && order(got, *e.min) < 0) return false;
  return !e.max || order(got, *e.max) <= 0;
}

std::string ppm_text(std::int64_t ppm) {
  std::string text = fmt::format("{}.{:04}", ppm / 10'000, ppm % 10'000);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string expected_text(const expectation& e) {
  if (e.equals) return "== " + e.equals->text;
  if (e.value) return fmt::format("{} +-{}%", e.value->text, ppm_text(e.tolerance_ppm));
  if (e.min && e.max) return fmt::format("{} .. {}", e.min->text, e.max->text);
  return e.min ? ">= " + e.min->text : e.max ? "<= " + e.max->text : "";
}

/// One expectation and the runs it looks at.
struct planned {
  std::string file;
  expectation item;
  std::size_t first = 0;   ///< the run, or the numerator
  std::size_t second = 0;  ///< the denominator's run
};

/// The runs of an expectation, among `runs`. Throws config_error.
planned plan_of(const std::string& file, const std::vector<std::string>& sets,
                const expectation& item, batch& runs) {
  const auto run_with = [&](const scenario::overrides& more) {
    std::vector<std::string> all = sets;
    for (const auto& [key, value] : more) all.push_back(fmt::format("{}={}", key, value));
    if (more.empty()) return runs.add(file, all);
    try {
      return runs.add(file, all);
    } catch (const config_error& e) {
      throw config_error(
          scenario::to_line({item.where, "expect", "with the changes of '" + item.name + "':"}) +
          "\n" + e.what());
    }
  };
  const planned out{file, item, run_with(item.over), run_with(item.against)};
  if (!item.over.empty() &&
      runs.scenario_of(out.first).effective() == runs.scenario_of(out.second).effective())
    throw config_error(scenario::to_line({item.where, "expect",
                                          "'over' and 'against' of '" + item.name +
                                              "' are the same run: the ratio is always 1"}) +
                       "\n");
  return out;
}

check_row evaluate(const planned& p, const std::vector<run_outcome>& outcomes) {
  check_row row{p.file, p.item.name,     p.item.what, expected_text(p.item),
                "-",    outcome::broken, "",          {}};
  for (const std::size_t run : {p.first, p.second}) {
    if (outcomes[run].result) continue;
    row.message = outcomes[run].error;
    row.cause = outcomes[run].cause;
    if (row.message.empty()) {
      row.result = outcome::stopped;
      row.message = "interrupted";
    }
    return row;
  }
  try {
    measured got = select(*outcomes[p.first].result, p.item.what);
    if (p.item.is_ratio())
      got = ratio(got, select(*outcomes[p.second].result,
                              p.item.ratio_to.empty() ? p.item.what : p.item.ratio_to));
    row.got = got.text;
    row.result = holds(got, p.item) ? outcome::ok : outcome::miss;
  } catch (const config_error& e) {
    row.message = e.what();
    row.cause = std::current_exception();
  }
  return row;
}

struct outcome_words {
  const char* shown;  ///< in the table
  const char* key;    ///< in the documents for programs
};

outcome_words words_of(outcome o) {
  switch (o) {
    case outcome::ok:
      return {"ok", "ok"};
    case outcome::miss:
      return {"MISS", "missed"};
    case outcome::broken:
      return {"BROKEN", "broken"};
    case outcome::stopped:
      return {"stopped", "interrupted"};
  }
  return {"", ""};
}

}  // namespace

bool check_report::ok() const {
  return std::all_of(rows.begin(), rows.end(),
                     [](const check_row& r) { return r.result == outcome::ok; });
}

std::exception_ptr check_report::cause() const {
  for (const check_row& row : rows)
    if (row.cause) return row.cause;
  return nullptr;
}

std::vector<std::string> yaml_files(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code ec;
  const auto require = [&] {
    if (ec) throw missing_input(folder + ": cannot be read: " + ec.message());
  };
  fs::recursive_directory_iterator at(folder, ec);
  require();
  for (; at != fs::recursive_directory_iterator(); at.increment(ec), require()) {
    const fs::path& p = at->path();
    const bool yaml = p.extension() == ".yaml" || p.extension() == ".yml";
    std::error_code ignored;
    if (yaml && at->is_regular_file(ignored)) out.push_back(p.string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> scenario_files(const std::vector<std::string>& paths) {
  std::vector<std::string> out;
  std::set<std::string> seen;
  const auto add = [&](const std::string& path) {
    std::error_code ec;
    const fs::path whole = fs::canonical(path, ec);
    if (seen.insert(ec ? path : whole.string()).second) out.push_back(path);
  };
  for (const std::string& path : paths) {
    std::error_code ec;
    if (!fs::is_directory(path, ec)) {
      add(path);
      continue;
    }
    for (const std::string& file : yaml_files(path))
      if (expects_something(file)) add(file);
  }
  return out;
}

check_report check(const std::vector<std::string>& files, const std::vector<std::string>& sets,
                   const loader& load, const runner& run, const pool_options& pool) {
  batch runs(load, run);
  check_report out;
  std::vector<planned> plan;
  for (const std::string& file : files) {
    std::vector<planned> of_file;
    try {
      for (const expectation& item : load(file, sets).expectations)
        of_file.push_back(plan_of(file, sets, item, runs));
    } catch (const config_error& e) {
      of_file.clear();
      out.rows.push_back({file, "scenario", "", "parses", "-", outcome::broken, e.what(),
                          std::current_exception()});
    }
    plan.insert(plan.end(), of_file.begin(), of_file.end());
  }
  const std::vector<run_outcome>& outcomes = runs.run(pool);
  for (const planned& p : plan) out.rows.push_back(evaluate(p, outcomes));
  std::stable_sort(out.rows.begin(), out.rows.end(), [&](const check_row& a, const check_row& b) {
    const auto at = [&](const check_row& r) {
      return std::find(files.begin(), files.end(), r.file);
    };
    return at(a) < at(b);
  });
  return out;
}

std::string to_text(const check_report& r) {
  using report::align;
  report::table t({{"file", align::left},
                   {"what", align::left},
                   {"expected", align::left},
                   {"got", align::left},
                   {"result", align::left}});
  std::map<outcome, std::size_t> numbers;
  std::string notes;
  for (const check_row& row : r.rows) {
    t.add({row.file, row.name, row.expected, row.got, words_of(row.result).shown});
    ++numbers[row.result];
    if (!row.message.empty()) notes += fmt::format("{}: {}: {}\n", row.file, row.name, row.message);
  }
  return fmt::format("{}{}{} ok, {} missed, {} broken{}\n", r.rows.empty() ? "" : t.to_text(),
                     notes, numbers[outcome::ok], numbers[outcome::miss], numbers[outcome::broken],
                     numbers[outcome::stopped] == 0
                         ? ""
                         : fmt::format(", {} interrupted", numbers[outcome::stopped]));
}

nlohmann::ordered_json to_json(const check_report& r) {
  using json = nlohmann::ordered_json;
  json doc = {{"schema_version", 1}, {"rows", json::array()}, {"totals", json::object()}};
  json& totals = doc["totals"];
  for (const outcome o : {outcome::ok, outcome::miss, outcome::broken, outcome::stopped})
    totals[words_of(o).key] = 0;
  for (const check_row& row : r.rows) {
    json out = {{"file", row.file},  {"name", row.name},
                {"what", row.what},  {"expected", row.expected},
                {"actual", row.got}, {"outcome", words_of(row.result).key}};
    if (!row.message.empty()) out["message"] = row.message;
    doc["rows"].push_back(std::move(out));
    totals[words_of(row.result).key] = totals[words_of(row.result).key].get<std::size_t>() + 1;
  }
  return doc;
}

std::string to_csv(const check_report& r) {
  std::string out = "file,name,what,expected,actual,outcome,message\n";
  for (const check_row& row : r.rows)
    out += report::csv_line({row.file, row.name, row.what, row.expected, row.got,
                             words_of(row.result).key, row.message});
  return out;
}

std::vector<report::junit_case> to_junit_cases(const check_report& r) {
  using junit = report::junit_case::outcome;
  std::vector<report::junit_case> out;
  for (const check_row& row : r.rows) {
    if (row.result == outcome::ok)
      out.push_back({row.file, row.name, junit::passed, ""});
    else if (row.result == outcome::miss)
      out.push_back({row.file, row.name, junit::failed,
                     fmt::format("expected {}, got {}", row.expected, row.got)});
    else
      out.push_back({row.file, row.name, junit::error, row.message});
  }
  return out;
}

}  // namespace hvsim::experiment
