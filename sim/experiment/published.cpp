// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/published.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/experiment/source.hpp"
#include "sim/scenario/parse.hpp"
#include "sim/scenario/render.hpp"
#include "sim/scenario/units.hpp"

namespace hvsim::experiment {
namespace {

using registry::node;
using kind = registry::node::kind;

constexpr std::int64_t most_seeds = 1000;

/// Collects complaints, and reads nodes in spite of them.
class complaints {
 public:
  void add(const node& at, const std::string& path, const std::string& message) {
    list_.push_back({at.where, path, message});
  }
  [[nodiscard]] std::vector<registry::diagnostic>& list() { return list_; }

 private:
  std::vector<registry::diagnostic> list_;
};

/// One mapping of the file: members by name, unknown names complained about at the end.
class mapping {
 public:
  mapping(const node& n, std::string path, complaints& out)
      : node_(n), path_(std::move(path)), out_(out) {
    if (n.what != kind::mapping) out_.add(n, path_, "expected a mapping");
  }

  const node* get(const std::string& key, bool required = true) {
    known_.push_back(key);
    for (const auto& [k, v] : node_.members)
      if (k.scalar == key) return &v;
    if (required && node_.what == kind::mapping)
      out_.add(node_, path_, fmt::format("'{}' is missing", key));
    return nullptr;
  }
  std::string text(const std::string& key, bool required = true) {
    const node* n = get(key, required);
    if (n == nullptr) return {};
    if (n->what == kind::scalar && !n->scalar.empty()) return n->scalar;
    out_.add(*n, place(key), "expected text");
    return {};
  }
  /// Calls f(name, value, path) for each member of the mapping under `key`.
  template <class F>
  void each(const std::string& key, F f, bool required = true) {
    const node* n = get(key, required);
    if (n == nullptr) return;
    if (n->what != kind::mapping) return out_.add(*n, place(key), "expected a mapping");
    for (const auto& [k, v] : n->members) f(k.scalar, v, place(key) + "." + k.scalar);
  }
  std::vector<const node*> items(const std::string& key, bool required = true) {
    std::vector<const node*> out;
    const node* n = get(key, required);
    if (n == nullptr) return out;
    if (n->what != kind::sequence) out_.add(*n, place(key), "expected a list");
    for (const node& item : n->items) out.push_back(&item);
    return out;
  }
  void no_more() {
    for (const auto& [k, v] : node_.members) {
      if (std::find(known_.begin(), known_.end(), k.scalar) != known_.end()) continue;
      out_.add(k, path_, scenario::unknown_word("key", k.scalar, known_));
    }
  }
  [[nodiscard]] std::string place(const std::string& key) const {
    return path_.empty() ? key : path_ + "." + key;
  }
  [[nodiscard]] const node& at() const { return node_; }

 private:
  const node& node_;
  std::string path_;
  complaints& out_;
  std::vector<std::string> known_;
};

class reader {
 public:
  explicit reader(complaints& out) : out_(out) {}

  published read(const node& root) {
    mapping m(root, "", out_);
    if (m.text("schema_version") != "1") out_.add(root, "schema_version", "expected 1");
    result_.name = m.text("name");
    result_.title = m.text("title");
    result_.source = m.text("source");
    if (const node* p = m.get("placement", false)) read_placement(*p);
    if (const node* n = m.get("mean_of_seeds", false)) {
      const auto seeds = scenario::parse_integer(n->scalar);
      if (seeds.value.value_or(0) < 1 || seeds.value.value_or(0) > most_seeds)
        out_.add(*n, "mean_of_seeds", fmt::format("must be between 1 and {}", most_seeds));
      else
        result_.mean_of_seeds = static_cast<int>(*seeds.value);
    }
    m.each("runs", [&](const std::string& key, const node& n, const std::string& path) {
      mapping run(n, path, out_);
      result_.runs.push_back({key, run.text("label"), run.text("source")});
      run.no_more();
    });
    m.each("tables", [&](const std::string& key, const node& n, const std::string& path) {
      result_.tables.push_back(read_table(key, n, path));
    });
    m.no_more();
    return std::move(result_);
  }

 private:
  void read_placement(const node& n) {
    mapping m(n, "placement", out_);
    result_.placement_key = m.text("key");
    for (const node* v : m.items("values")) result_.placements.push_back(v->scalar);
    m.no_more();
  }

  published_table read_table(const std::string& key, const node& n, const std::string& path) {
    mapping m(n, path, out_);
    published_table t;
    t.key = key;
    t.title = m.text("title");
    t.subtitle = m.text("subtitle", false);
    t.unit_name = m.text("unit");
    t.unit = t.unit_name == "s"    ? table_unit::seconds
             : t.unit_name == "ms" ? table_unit::milliseconds
                                   : table_unit::other;
    t.scenario = m.text("scenario");
    t.time = m.text("time");
    if (const node* x = m.get("x")) read_x(*x, m.place("x"), t);
    if (const node* size = m.get("size", false)) {
      mapping s(*size, m.place("size"), out_);
      t.size_key = s.text("key");
      t.size_value = s.text("value");
      s.no_more();
    }
    m.each("series", [&](const std::string& name, const node& v, const std::string& where) {
      t.series.push_back(read_series(name, v, where, t));
    });
    if (const node* compare = m.get("compare", false))
      read_compare(*compare, m.place("compare"), t);
    m.each(
        "notes",
        [&](const std::string& x, const node& v, const std::string& where) {
          if (const auto at = find_x(t, x, v, where)) t.notes.push_back({*at, v.scalar});
        },
        false);
    m.no_more();
    return t;
  }

  void read_x(const node& n, const std::string& path, published_table& t) {
    mapping m(n, path, out_);
    t.x_name = m.text("name");
    t.x_key = m.text("key");
    for (const node* v : m.items("values")) {
      const auto number = scenario::parse_integer(v->scalar);
      if (!number) out_.add(*v, m.place("values"), number.error);
      t.xs.push_back(number.value.value_or(0));
    }
    m.no_more();
  }

  void read_compare(const node& n, const std::string& path, published_table& t) {
    mapping m(n, path, out_);
    t.baseline = m.text("baseline");
    t.changed = m.text("changed");
    for (const std::string& s : {t.baseline, t.changed})
      if (!s.empty() && t.find(s) == nullptr)
        out_.add(n, path, fmt::format("there is no series '{}'", s));
    m.no_more();
  }

  published_series read_series(const std::string& key, const node& n, const std::string& path,
                               const published_table& t) {
    mapping m(n, path, out_);
    published_series s;
    s.key = key;
    s.label = m.text("label");
    s.corrects = m.text("corrects", false);
    if (const node* set = m.get("set", false)) {
      for (const auto& [k, v] : set->members)
        s.sets.push_back(fmt::format("{}={}", k.scalar, scenario::format_node(v)));
      if (set->what != kind::mapping) out_.add(*set, m.place("set"), "expected a mapping");
    }
    s.roles.assign(t.xs.size(), cell_role::predicted);
    for (const node* v : m.items("fitted"))
      if (const auto at = find_x(t, v->scalar, *v, m.place("fitted")))
        s.roles[*at] = cell_role::fitted;
    m.each(
        "set_by_x",
        [&](const std::string& name, const node& v, const std::string& where) {
          read_cell_sets(name, v, where, s);
        },
        false);
    s.values.assign(result_.runs.size(), std::vector<std::optional<published_value>>(t.xs.size()));
    m.each("values", [&](const std::string& run, const node& v, const std::string& where) {
      read_values(run, v, where, s);
    });
    m.no_more();
    return s;
  }

  std::optional<std::size_t> find_x(const published_table& t, const std::string& x, const node& n,
                                    const std::string& path) {
    const auto number = scenario::parse_integer(x);
    const auto at = std::find(t.xs.begin(), t.xs.end(), number.value.value_or(-1));
    if (at != t.xs.end()) return static_cast<std::size_t>(at - t.xs.begin());
    out_.add(n, path, fmt::format("{} is no value of x", x));
    return std::nullopt;
  }

  void read_cell_sets(const std::string& name, const node& list, const std::string& path,
                      published_series& s) {
    s.cell_sets.resize(s.roles.size());
    if (list.what != kind::sequence || list.items.size() != s.roles.size())
      return out_.add(list, path,
                      fmt::format("expected a list of {} values, one for each x", s.roles.size()));
    for (std::size_t i = 0; i < s.roles.size(); ++i)
      if (!is_hole(list.items[i]))
        s.cell_sets[i].push_back(fmt::format("{}={}", name, list.items[i].scalar));
  }

  static bool is_hole(const node& item) {
    return item.scalar.empty() || item.scalar == "null" || item.scalar == "~";
  }

  void read_values(const std::string& run, const node& list, const std::string& path,
                   published_series& s) {
    const auto at = std::find_if(result_.runs.begin(), result_.runs.end(),
                                 [&](const published_run& r) { return r.key == run; });
    if (at == result_.runs.end()) return out_.add(list, path, "there is no such run");
    auto& values = s.values[static_cast<std::size_t>(at - result_.runs.begin())];
    if (list.what != kind::sequence || list.items.size() != values.size())
      return out_.add(list, path,
                      fmt::format("expected a list of {} values, one for each x", values.size()));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const node& item = list.items[i];
      if (is_hole(item)) continue;
      const auto number = scenario::parse_real(item.scalar);
      if (!number)
        out_.add(item, path, number.error);
      else if (!(*number.value >= 0))
        out_.add(item, path, "a published value cannot be negative; got " + item.scalar);
      else
        values[i] = published_value{*number.value, item.scalar};
    }
  }

  complaints& out_;
  published result_;
};

}  // namespace

std::string_view name_of(cell_role role) {
  return role == cell_role::fitted ? "fitted" : "predicted";
}

const published_series* published_table::find(std::string_view series_key) const {
  for (const published_series& s : series)
    if (s.key == series_key) return &s;
  return nullptr;
}

published parse_published(std::string_view yaml, const std::string& filename) {
  auto tree = scenario::parse_tree(yaml, filename);
  if (!tree) throw config_error(scenario::to_text(tree.errors, tree.sources));
  complaints found;
  published out = reader(found).read(*tree.value);
  if (!found.list().empty()) throw config_error(scenario::to_text(found.list(), tree.sources));
  return out;
}

}  // namespace hvsim::experiment
