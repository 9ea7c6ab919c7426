// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/parse.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <stdexcept>

#include "sim/scenario/expect.hpp"
#include "sim/scenario/machine.hpp"
#include "sim/scenario/sets.hpp"
#include "sim/scenario/tree.hpp"
#include "sim/scenario/walk.hpp"

namespace hvsim::scenario {
namespace {

using registry::node;
using registry::parameter;
using registry::position;
using registry::value_type;

// Keys of a scenario that are not parameters.
const std::vector<std::string> own_keys{"schema_version", "name",     "description",
                                        "machine",        "workload", "expect"};

class reader {
 public:
  reader(const std::string& filename, const registry::catalogue& catalogue, sink& out)
      : catalogue_(catalogue), out_(out) {
    s_.file = filename;
    s_.name = std::filesystem::path(filename).stem().string();
  }

  scenario read(const node& root) {
    root_where_ = root.where;
    read_top(root);
    read_machine(find(root, "machine"), s_.file, catalogue_, s_, out_);
    read_common(root);
    read_workload(find(root, "workload"));
    if (const node* list = find(root, "expect"))
      s_.expectations = read_expectations(*list, catalogue_, out_);
    return std::move(s_);
  }

 private:
  void read_top(const node& root) {
    common_.add(catalogue_.common);
    std::vector<std::string> known = own_keys;
    for (const auto& name : common_.children("")) known.push_back(name);
    for (const auto& [key, value] : root.members) {
      if (key.scalar.starts_with("x-")) continue;
      s_.positions[key.scalar] = key.where;
      if (std::find(known.begin(), known.end(), key.scalar) != known.end()) continue;
      out_.add(key.where, key.scalar,
               with_remark(unknown_key(key.scalar, known), placement(key.scalar)));
    }
    const node* version = find(root, "schema_version");
    if (version == nullptr)
      out_.add(root.where, "schema_version", "required key is missing; expected 1");
    else if (!is_scalar(*version) || version->scalar != "1")
      out_.add(version->where, "schema_version",
               "this program reads version 1; got " + shape(*version));
    read_text(root, "name", s_.name);
    read_text(root, "description", s_.description);
  }

  // Where a key that is unknown at the top belongs.
  std::string placement(const std::string& key) const {
    if (common_.find(key) != nullptr) return "nest it instead of writing dots";
    if (auto full = common_.elsewhere(key)) return "there is '" + *full + "'";
    return {};
  }

  void read_text(const node& root, std::string_view key, std::string& into) {
    const node* n = find(root, key);
    if (n == nullptr) return;
    if (is_scalar(*n) && !n->scalar.empty())
      into = n->scalar;
    else
      out_.add(n->where, std::string(key), "expected text; got " + shape(*n));
  }

  void read_common(const node& root) {
    node parameters;
    parameters.what = node::kind::mapping;
    for (const auto& [key, value] : root.members)
      if (key.scalar.find('.') == std::string::npos &&
          (common_.known(key.scalar) || common_.is_prefix(key.scalar)))
        parameters.members.emplace_back(key, value);
    read_parameters(parameters, "", common_, nullptr);
    // The preset's name is wanted before the defaults that it changes.
    std::map<std::string, std::string, std::less<>> preset = preset_values();
    for (const auto& p : catalogue_.common) {
      auto it = preset.find(p.key);
      fill(p, it != preset.end() ? it->second : p.default_value);
    }
  }

  std::map<std::string, std::string, std::less<>> preset_values() {
    constexpr std::string_view key = "hypervisor.kernel";
    const parameter* p = common_.find(key);
    if (p == nullptr || failed_.count(std::string(key)) != 0) return {};
    std::string name = s_.values.has(key) ? s_.values.text(key) : p->default_value;
    std::vector<std::string> names;
    for (const auto& k : catalogue_.kernels) {
      names.push_back(k.name);
      if (k.name != name) continue;
      for (const auto& [switch_key, text] : k.values)
        if (common_.find(switch_key) == nullptr)
          throw std::logic_error("preset " + name + " sets unknown key " + switch_key);
      return {k.values.begin(), k.values.end()};
    }
    if (names.empty() || name.empty()) return {};
    out_.add(s_.where(key), std::string(key), unknown_word("kernel preset", name, names));
    return {};
  }

  void read_workload(const node* workload) {
    const node* type =
        workload != nullptr && is_mapping(*workload) ? find(*workload, "type") : workload;
    if (type == nullptr || is_null(*type)) {
      out_.add(workload != nullptr ? workload->where : root_where_, "workload.type",
               "required key is missing; known: " + workload_names());
      return;
    }
    if (!is_scalar(*type)) {
      out_.add(type->where, "workload.type", "expected a workload's name; got " + shape(*type));
      return;
    }
    const registry::workload_info* info = nullptr;
    std::vector<std::string> names;
    for (const auto& w : catalogue_.workloads) {
      names.push_back(w.name);
      if (w.name == type->scalar) info = &w;
    }
    if (info == nullptr) {
      out_.add(type->where, "workload.type", unknown_word("workload", type->scalar, names));
      return;
    }
    s_.workload = info->name;
    s_.texts["workload.type"] = info->name;
    key_table keys;
    keys.add_plain("workload.type");
    keys.add(info->parameters);
    if (is_mapping(*workload))
      read_parameters(*workload, "workload", keys,
                      [&](const std::string& key) { return other_workload(key); });
    for (const auto& p : info->parameters) fill(p, p.default_value);
  }

  std::string workload_names() const {
    std::string out;
    for (const auto& w : catalogue_.workloads) out += std::string(out.empty() ? "" : ", ") + w.name;
    return out;
  }

  std::string other_workload(const std::string& key) const {
    for (const auto& w : catalogue_.workloads)
      for (const auto& p : w.parameters)
        if (p.key == key) return "it is a key of the workload '" + w.name + "'";
    return {};
  }

  void read_parameters(const node& mapping, const std::string& prefix, const key_table& keys,
                       const std::function<std::string(const std::string&)>& hint) {
    walk(
        mapping, prefix, keys,
        [&](const std::string& key, const position& where, const node& value) {
          s_.positions[key] = where;
          if (const parameter* p = keys.find(key)) store(*p, value);
        },
        out_, hint);
  }

  void store(const parameter& p, const node& written) {
    if (p.type == value_type::structure) {
      if (is_scalar(written)) {
        out_.add(written.where, p.key, "expected a mapping or a list; got " + shape(written));
        failed_.insert(p.key);
        return;
      }
      s_.texts[p.key] = format_node(written);
      s_.structures[p.key] = written;
      return;
    }
    auto v = convert(p, written);
    if (!v) {
      out_.add(written.where, p.key, v.error);
      failed_.insert(p.key);
      return;
    }
    s_.texts[p.key] = format_value(p.type, *v.value);
    s_.values.set(p.key, std::move(*v.value));
  }

  // What was not written gets `text`, the default or the preset's value.
  void fill(const parameter& p, const std::string& text) {
    if (s_.values.has(p.key) || s_.structures.count(p.key) != 0 || failed_.count(p.key) != 0)
      return;
    if (text.empty()) {
      position where = s_.where(p.key);
      // An override that chose the workload is what makes its keys missing.
      if (const position type = s_.where("workload.type");
          p.key.starts_with("workload.") && type.line == 0)
        where = type;
      out_.add(where, p.key,
               "required key is missing; expected " + describe(p.type) + " (" + p.help + ")");
      return;
    }
    if (p.type == value_type::structure || text.front() == '"') {
      sink problems;
      auto tree = load_tree(text, "default of " + p.key, problems);
      if (!tree || !problems.empty())
        throw std::logic_error("default of " + p.key + " is not YAML");
      store(p, *tree);
      return;
    }
    auto v = parse_value(p, text);
    if (!v) throw std::logic_error("default of " + p.key + ": " + v.error);
    s_.texts[p.key] = format_value(p.type, *v.value);
    s_.values.set(p.key, std::move(*v.value));
  }

  const registry::catalogue& catalogue_;
  sink& out_;
  scenario s_;
  key_table common_;
  std::set<std::string> failed_;
  position root_where_;
};

}  // namespace

parsed<scenario> parse_text(std::string_view text, const std::string& filename,
                            const registry::catalogue& catalogue,
                            const std::vector<std::string>& sets, const std::vector<rule>& rules) {
  sink out;
  parsed<scenario> result;
  auto root = load_tree(text, filename, out);
  if (root && is_null(*root)) {
    out.add({filename, 1, 1}, {},
            "the file is empty; a scenario needs schema_version, machine and workload");
  } else if (root && !is_mapping(*root)) {
    out.add(root->where, {}, "a scenario is a mapping of keys to values; got " + shape(*root));
  } else if (root) {
    apply_sets(sets, *root, out);
    scenario s = reader(filename, catalogue, out).read(*root);
    if (out.empty()) {
      std::vector<rule> all = generic_rules();
      all.insert(all.end(), rules.begin(), rules.end());
      for (const auto& r : all)
        if (auto message = r.check(s)) out.add(s.where(r.key), r.key, *message);
      for (const auto& w : catalogue.workloads) {
        if (w.name != s.workload || !w.check) continue;
        for (auto& d : w.check(s.values, s.structures))
          out.add(d.where.file.empty() ? s.where(d.path) : d.where, d.path, d.message);
      }
    }
    if (out.empty()) result.value = std::move(s);
  }
  result.sources = std::move(out.sources);
  result.unreadable = out.unreadable;
  result.errors = out.take();
  return result;
}

parsed<scenario> parse_file(const std::string& path, const registry::catalogue& catalogue,
                            const std::vector<std::string>& sets, const std::vector<rule>& rules) {
  sink out;
  if (auto text = read_file(path, out)) return parse_text(*text, path, catalogue, sets, rules);
  parsed<scenario> result;
  result.unreadable = out.unreadable;
  result.errors = out.take();
  return result;
}

}  // namespace hvsim::scenario
