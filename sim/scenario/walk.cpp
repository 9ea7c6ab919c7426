// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/walk.hpp"

#include <algorithm>
#include <stdexcept>

namespace hvsim::scenario {
namespace {

using registry::node;
using registry::parameter;
using registry::value_type;

bool is_numeric(value_type t) {
  return t == value_type::integer || t == value_type::real || t == value_type::boolean;
}

value_or_error<registry::value> convert_list(const parameter& p, const node& n) {
  if (!is_sequence(n)) return {{}, "expected " + describe(p.type) + "; got " + shape(n)};
  std::string text;
  for (const auto& item : n.items) {
    if (!is_scalar(item) || item.quoted || is_null(item) ||
        item.scalar.find_first_of(",[]") != std::string::npos)
      return {{}, "expected " + describe(p.type) + "; one item is " + shape(item)};
    text += std::string(text.empty() ? "" : ", ") + item.scalar;
  }
  return parse_value(p, "[" + text + "]");
}

}  // namespace

void key_table::link(const std::string& key) {
  std::string_view rest = key;
  while (true) {
    auto dot = rest.rfind('.');
    std::string parent(dot == std::string_view::npos ? "" : rest.substr(0, dot));
    std::string name(dot == std::string_view::npos ? rest : rest.substr(dot + 1));
    if (names_.count(parent) != 0)
      throw std::logic_error("key is both a value and a mapping: " + parent);
    auto& names = children_[parent];
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    if (dot == std::string_view::npos) return;
    rest = rest.substr(0, dot);
  }
}

void key_table::add(const std::vector<parameter>& table) {
  for (const auto& p : table) {
    if (is_prefix(p.key)) throw std::logic_error("key is both a value and a mapping: " + p.key);
    if (!names_.emplace(p.key, &p).second) throw std::logic_error("key twice: " + p.key);
    parameters_.push_back(&p);
    link(p.key);
  }
}

void key_table::add_plain(std::string key) {
  if (names_.emplace(key, nullptr).second) link(key);
}

const parameter* key_table::find(std::string_view key) const {
  auto it = names_.find(key);
  return it == names_.end() ? nullptr : it->second;
}

const std::vector<std::string>& key_table::children(std::string_view prefix) const {
  static const std::vector<std::string> none;
  auto it = children_.find(prefix);
  return it == children_.end() ? none : it->second;
}

std::optional<std::string> key_table::elsewhere(std::string_view name) const {
  std::string tail = ".";
  tail += name;
  for (const auto& [key, p] : names_)
    if (key == name || key.ends_with(tail)) return key;
  return std::nullopt;
}

std::string unknown_key(std::string_view key, const std::vector<std::string>& known) {
  constexpr std::size_t short_list = 16;
  node shown;
  shown.scalar = key;
  shown.quoted = true;
  const std::string message = "unknown key " + shape(shown);
  if (known.size() <= short_list) return with_known(message, key, known);
  const auto near = nearest(key, known);
  return near ? with_remark(message, "did you mean '" + *near + "'?") : message;
}

void walk(
    const node& mapping, const std::string& prefix, const key_table& keys,
    const std::function<void(const std::string&, const registry::position&, const node&)>& leaf,
    sink& out, const std::function<std::string(const std::string&)>& hint) {
  if (!is_mapping(mapping)) {
    if (is_null(mapping)) return;  // "vm:" with nothing below sets nothing
    out.add(mapping.where, prefix, "expected a mapping of keys to values; got " + shape(mapping));
    return;
  }
  for (const auto& [key, value] : mapping.members) {
    std::string full = join(prefix, key.scalar);
    // A dot inside one YAML key must not reach a nested parameter.
    bool dotted = key.scalar.find('.') != std::string::npos;
    if (!dotted && !key.scalar.empty() && keys.known(full)) {
      leaf(full, key.where, value);
    } else if (!dotted && !key.scalar.empty() && keys.is_prefix(full)) {
      walk(value, full, keys, leaf, out, hint);
    } else {
      std::string extra;
      if (dotted && keys.known(full))
        extra = "nest it instead of writing dots";
      else if (hint)
        extra = hint(full);
      if (extra.empty() && !nearest(key.scalar, keys.children(prefix)))
        if (auto other = keys.elsewhere(key.scalar)) extra = "there is '" + *other + "'";
      out.add(key.where, full, with_remark(unknown_key(key.scalar, keys.children(prefix)), extra));
    }
  }
}

value_or_error<registry::value> convert(const parameter& p, const node& n) {
  if (p.type == value_type::list) return convert_list(p, n);
  std::string expected = p.type == value_type::choice && !p.choices.empty()
                             ? "a word such as '" + p.choices.front() + "'"
                             : describe(p.type);
  if (is_null(n)) return {{}, "has no value; expected " + expected};
  if (!is_scalar(n)) return {{}, "expected " + expected + "; got " + shape(n)};
  if (n.quoted && is_numeric(p.type))
    return {{}, "expected " + expected + "; got the text " + shape(n) + " (remove the quotes)"};
  return parse_value(p, n.scalar);
}

}  // namespace hvsim::scenario
