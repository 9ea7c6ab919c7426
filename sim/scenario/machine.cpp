// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/machine.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "sim/scenario/walk.hpp"

namespace hvsim::scenario {
namespace {

using registry::cost_kind;
using registry::node;
using registry::parameter;
using registry::position;
using registry::value_type;

const std::vector<std::string> profile_keys{"schema_version", "machine",  "description",
                                            "topology",       "features", "costs"};
const std::vector<std::string> cost_keys{"value", "kind", "source", "min", "max", "spread"};
const std::vector<std::string> kind_names{"published", "derived", "fitted"};

std::optional<cost_kind> kind_of(std::string_view word) {
  if (word == "published") return cost_kind::published;
  if (word == "derived") return cost_kind::derived;
  if (word == "fitted") return cost_kind::fitted;
  return std::nullopt;
}

std::optional<std::int64_t> bound(const node& entry, std::string_view name, const parameter& p,
                                  const std::string& path, sink& out) {
  const node* n = find(entry, name);
  if (n == nullptr) return std::nullopt;
  parameter unbounded = p;
  unbounded.min.reset();
  unbounded.max.reset();
  auto v = convert(unbounded, *n);
  if (!v) {
    out.add(n->where, join(path, name), v.error);
    return std::nullopt;
  }
  if (const auto* i = std::get_if<std::int64_t>(&*v.value)) return *i;
  out.add(n->where, join(path, name), "this cost has no ordered values, so it takes no bounds");
  return std::nullopt;
}

void read_kind(const node& entry, const std::string& path, cost_info& info, sink& out) {
  const node* kind = find(entry, "kind");
  if (kind == nullptr) {
    out.add(entry.where, path, "'kind' is missing; expected published, derived or fitted");
    return;
  }
  auto k = is_scalar(*kind) ? kind_of(kind->scalar) : std::nullopt;
  if (k) {
    info.kind = *k;
    return;
  }
  out.add(kind->where, join(path, "kind"),
          is_scalar(*kind) ? unknown_word("kind", kind->scalar, kind_names)
                           : "expected one of published, derived, fitted; got " + shape(*kind));
}

void read_source(const node& entry, const std::string& path, cost_info& info, sink& out) {
  const node* source = find(entry, "source");
  if (source == nullptr)
    out.add(entry.where, path, "'source' is missing; say where the cost comes from");
  else if (!is_scalar(*source) || source->scalar.empty())
    out.add(source->where, join(path, "source"), "expected text; got " + shape(*source));
  else
    info.source = source->scalar;
}

void read_spread(const node& entry, const std::string& path, cost_info& info, sink& out) {
  const node* spread = find(entry, "spread");
  if (spread == nullptr) return;
  auto ppm = is_scalar(*spread)
                 ? parse_percent_ppm(spread->scalar)
                 : value_or_error<std::int64_t>{{}, "expected a percentage such as 2%"};
  if (!ppm)
    out.add(spread->where, join(path, "spread"), ppm.error);
  else if (*ppm.value % 1000 != 0 || *ppm.value > 1'000'000)
    out.add(spread->where, join(path, "spread"),
            "out of range: must be between 0% and 100% in steps of 0.1%; got " + spread->scalar);
  else
    info.spread = *ppm.value / 1000;
}

void check_bounds(const node& entry, const std::string& path, const parameter& p,
                  const registry::value& v, const cost_info& info, sink& out) {
  if (info.kind == cost_kind::fitted && (!find(entry, "min") || !find(entry, "max")))
    out.add(entry.where, path, "a fitted cost needs 'min' and 'max'");
  const auto* n = std::get_if<std::int64_t>(&v);
  if (n == nullptr) return;
  auto text = [&](std::int64_t x) { return format_value(p.type, registry::value{x}); };
  const node& value = *find(entry, "value");
  if (info.min && info.max && *info.min > *info.max)
    out.add(find(entry, "min")->where, join(path, "min"),
            "min " + text(*info.min) + " is above max " + text(*info.max));
  else if ((info.min && *n < *info.min) || (info.max && *n > *info.max))
    out.add(value.where, join(path, "value"),
            "value " + text(*n) + " is outside its own bounds " +
                (info.min ? text(*info.min) : "...") + " to " +
                (info.max ? text(*info.max) : "..."));
}

void read_cost(const std::string& key, const parameter& p, const position& where, const node& entry,
               machine_profile& m, sink& out) {
  std::string path = key.substr(std::string_view("machine.").size());
  if (!is_mapping(entry)) {
    out.add(entry.where, path,
            "expected a mapping with value, kind and source; got " + shape(entry));
    return;
  }
  for (const auto& [k, v] : entry.members)
    if (std::find(cost_keys.begin(), cost_keys.end(), k.scalar) == cost_keys.end())
      out.add(k.where, join(path, k.scalar), unknown_key(k.scalar, cost_keys));
  cost_info info;
  info.key = key;
  read_kind(entry, path, info, out);
  read_source(entry, path, info, out);
  read_spread(entry, path, info, out);
  info.min = bound(entry, "min", p, path, out);
  info.max = bound(entry, "max", p, path, out);
  const node* value = find(entry, "value");
  if (value == nullptr) {
    out.add(where, path, "'value' is missing; expected " + describe(p.type));
  } else if (auto v = convert(p, *value); !v) {
    out.add(value->where, join(path, "value"), v.error);
  } else {
    check_bounds(entry, path, p, *v.value, info, out);
    m.values.set(key, *v.value);
  }
  m.costs.push_back(std::move(info));
}

// A profile that lacks half of its costs is one complaint, not fifty.
void require_all(const registry::catalogue& catalogue, const std::set<std::string>& written,
                 const node& tree, machine_profile& m, sink& out) {
  std::string missing;
  for (const auto& p : catalogue.costs)
    if (written.count(p.key) == 0)
      missing +=
          (missing.empty() ? "" : ", ") + p.key.substr(std::string_view("machine.costs.").size());
  if (!missing.empty()) {
    const node* costs = find(tree, "costs");
    out.add(costs != nullptr ? costs->where : tree.where, "costs", "missing costs: " + missing);
  }
  for (const auto& p : catalogue.topology) {
    if (written.count(p.key) != 0) continue;
    if (p.default_value.empty()) {
      out.add(tree.where, p.key.substr(std::string_view("machine.").size()),
              "required key is missing; expected " + describe(p.type));
      continue;
    }
    auto v = parse_value(p, p.default_value);
    if (!v) throw std::logic_error("default of " + p.key + ": " + v.error);
    m.values.set(p.key, *v.value);
  }
}

std::optional<machine_profile> load_profile(const node& name_node, const std::string& name,
                                            const std::string& base,
                                            const registry::catalogue& catalogue, sink& out) {
  if (name.ends_with(".yaml") || name.ends_with(".yml")) {
    auto path = std::filesystem::path(base).parent_path() / name;
    sink reading;
    auto text = read_file(path.string(), reading);
    if (!text) {
      out.unreadable = out.unreadable || reading.unreadable;
      for (const auto& d : reading.take())
        out.add(name_node.where, "machine", "profile " + d.where.file + ": " + d.message);
      return std::nullopt;
    }
    auto tree = load_tree(*text, path.string(), out);
    if (!tree) return std::nullopt;
    return read_profile(*tree, catalogue, out);
  }
  std::vector<std::string> names;
  for (const auto& [known, text] : catalogue.machines) {
    names.push_back(known);
    if (known != name) continue;
    auto tree = load_tree(text, "configs/machines/" + known + ".yaml", out);
    if (!tree) return std::nullopt;
    return read_profile(*tree, catalogue, out);
  }
  out.add(name_node.where, "machine",
          with_remark(unknown_word("machine", name, names), "or the path of a .yaml file"));
  return std::nullopt;
}

void apply_overrides(const node& machine, const registry::catalogue& catalogue, scenario& s,
                     sink& out) {
  key_table keys;
  keys.add_plain("machine.profile");
  keys.add(catalogue.topology);
  keys.add(catalogue.costs);
  walk(
      machine, "machine", keys,
      [&](const std::string& key, const position& where, const node& value) {
        s.positions[key] = where;
        const parameter* p = keys.find(key);
        if (p == nullptr) return;
        auto v = convert(*p, value);
        if (!v) {
          out.add(value.where, key, v.error);
          return;
        }
        s.machine.values.set(key, *v.value);
        for (auto& c : s.machine.costs)
          if (c.key == key) c.overridden = true;
      },
      out);
}

}  // namespace

machine_profile read_profile(const node& tree, const registry::catalogue& catalogue, sink& out) {
  machine_profile m;
  if (!is_mapping(tree)) {
    out.add(tree.where, {}, "a machine profile is a mapping of keys; got " + shape(tree));
    return m;
  }
  for (const auto& [key, value] : tree.members) {
    if (key.scalar.starts_with("x-")) continue;
    if (std::find(profile_keys.begin(), profile_keys.end(), key.scalar) == profile_keys.end())
      out.add(key.where, key.scalar, unknown_key(key.scalar, profile_keys));
  }
  const node* version = find(tree, "schema_version");
  if (version == nullptr || !is_scalar(*version) || version->scalar != "1")
    out.add(version != nullptr ? version->where : tree.where, "schema_version",
            version != nullptr ? "this program reads version 1; got " + shape(*version)
                               : "required key is missing; expected 1");
  const node* name = find(tree, "machine");
  if (name == nullptr || !is_scalar(*name) || name->scalar.empty())
    out.add(name != nullptr ? name->where : tree.where, "machine",
            "the machine's name is missing; expected text");
  else
    m.name = name->scalar;
  if (const node* text = find(tree, "description")) {
    if (is_scalar(*text))
      m.description = text->scalar;
    else
      out.add(text->where, "description", "expected text; got " + shape(*text));
  }
  key_table keys;
  keys.add(catalogue.topology);
  keys.add(catalogue.costs);
  std::set<std::string> costs;
  for (const auto& p : catalogue.costs) costs.insert(p.key);
  std::set<std::string> written;
  for (std::string_view section : {"topology", "features", "costs"}) {
    const node* part = find(tree, section);
    if (part == nullptr) continue;
    walk(
        *part, "machine." + std::string(section), keys,
        [&](const std::string& key, const position& where, const node& value) {
          written.insert(key);
          const parameter& p = *keys.find(key);
          if (costs.count(key) != 0) {
            read_cost(key, p, where, value, m, out);
          } else if (auto v = convert(p, value); !v) {
            out.add(value.where, key.substr(std::string_view("machine.").size()), v.error);
          } else {
            m.values.set(key, *v.value);
          }
        },
        out);
  }
  require_all(catalogue, written, tree, m, out);
  std::vector<cost_info> ordered;
  for (const auto& p : catalogue.costs)
    for (auto& c : m.costs)
      if (c.key == p.key) ordered.push_back(std::move(c));
  m.costs = std::move(ordered);
  return m;
}

void read_machine(const node* machine, const std::string& base,
                  const registry::catalogue& catalogue, scenario& s, sink& out) {
  if (machine == nullptr || is_null(*machine)) {
    out.add(machine != nullptr ? machine->where : position{s.file, 1, 1}, "machine",
            "required key is missing; expected the name of a machine profile");
    return;
  }
  const node* profile = is_mapping(*machine) ? find(*machine, "profile") : machine;
  if (is_sequence(*machine)) {
    out.add(machine->where, "machine", "expected a name or a mapping; got a list");
    return;
  }
  if (profile == nullptr || !is_scalar(*profile) || is_null(*profile)) {
    out.add(profile != nullptr ? profile->where : machine->where, "machine.profile",
            "required key is missing; expected the name of a machine profile");
  } else if (auto loaded = load_profile(*profile, profile->scalar, base, catalogue, out)) {
    s.machine = std::move(*loaded);
  }
  if (is_mapping(*machine)) apply_overrides(*machine, catalogue, s, out);
  if (profile != nullptr && is_scalar(*profile)) s.texts["machine.profile"] = profile->scalar;
  for (const auto* table : {&catalogue.topology, &catalogue.costs})
    for (const auto& p : *table) {
      auto it = s.machine.values.all().find(p.key);
      if (it == s.machine.values.all().end()) continue;
      s.values.set(p.key, it->second);
      s.texts[p.key] = format_value(p.type, it->second);
    }
}

parsed<machine_profile> parse_machine_text(std::string_view text, const std::string& filename,
                                           const registry::catalogue& catalogue) {
  sink out;
  parsed<machine_profile> result;
  if (auto tree = load_tree(text, filename, out)) {
    machine_profile m = read_profile(*tree, catalogue, out);
    if (out.empty()) result.value = std::move(m);
  }
  result.sources = std::move(out.sources);
  result.errors = out.take();
  return result;
}

parsed<machine_profile> parse_machine_file(const std::string& path,
                                           const registry::catalogue& catalogue) {
  sink out;
  if (auto text = read_file(path, out)) return parse_machine_text(*text, path, catalogue);
  parsed<machine_profile> result;
  result.unreadable = out.unreadable;
  result.errors = out.take();
  return result;
}

}  // namespace hvsim::scenario
