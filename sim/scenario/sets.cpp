// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/sets.hpp"

#include "sim/scenario/parse.hpp"

namespace hvsim::scenario {
namespace {

using registry::node;
using registry::position;

position set_position(std::size_t index) {
  return {"--set", 0, static_cast<int>(index) + 1};
}

void relocate(node& n, const position& where) {
  n.where = where;
  for (auto& item : n.items) relocate(item, where);
  for (auto& [key, value] : n.members) {
    relocate(key, where);
    relocate(value, where);
  }
}

node key_node(std::string_view name, const position& where) {
  node n;
  n.scalar = name;
  n.where = where;
  return n;
}

// "machine: NAME" and "workload: NAME" are short for a mapping; a key below them needs the long
// form.
void expand_short_form(node& n, std::string_view parent) {
  std::string_view long_key = parent == "machine" ? "profile" : parent == "workload" ? "type" : "";
  if (!is_scalar(n)) return;
  node mapping;
  mapping.what = node::kind::mapping;
  mapping.where = n.where;
  if (!long_key.empty() && !is_null(n))
    mapping.members.emplace_back(key_node(long_key, n.where), n);
  n = std::move(mapping);
}

// The value under a key, and that of the key itself where it is new or `written` now.
node& member(node& mapping, std::string_view name, const position& where, bool written) {
  for (auto& [key, value] : mapping.members)
    if (key.scalar == name) {
      if (written) key.where = where;
      return value;
    }
  node fresh;
  fresh.where = where;
  mapping.members.emplace_back(key_node(name, where), std::move(fresh));
  return mapping.members.back().second;
}

void apply(std::string_view key, node value, node& root, sink& out) {
  const position where = value.where;
  node* at = &root;
  std::string_view parent;
  std::string_view rest = key;
  while (true) {
    auto dot = rest.find('.');
    std::string_view name = rest.substr(0, dot);
    if (name.empty()) {
      out.add(where, std::string(key), "a part of the key is empty");
      return;
    }
    if (at != &root) expand_short_form(*at, parent);
    if (!is_mapping(*at)) {
      out.add(where, std::string(key), "cannot reach into a list; set all of it");
      return;
    }
    at = &member(*at, name, where, dot == std::string_view::npos);
    if (dot == std::string_view::npos) break;
    // Only the top-level machine and workload have a short form.
    parent = rest.data() == key.data() ? name : std::string_view();
    rest = rest.substr(dot + 1);
  }
  *at = std::move(value);
}

}  // namespace

std::optional<std::pair<std::string, std::string>> split_set(std::string_view text) {
  auto equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) return std::nullopt;
  return std::pair{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

void apply_sets(const std::vector<std::string>& sets, node& root, sink& out) {
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const std::string& text = sets[i];
    const position where = set_position(i);
    auto split = split_set(text);
    if (!split) {
      out.add(where, {}, "'" + text + "' is not of the form dotted.key=value");
      continue;
    }
    const auto& [key, value_text] = *split;
    constexpr std::size_t longest_key = 256;
    if (key.size() > longest_key) {
      out.add(where, {}, "the key is longer than " + std::to_string(longest_key));
      continue;
    }
    sink problems;
    auto value = load_tree(value_text, "--set", problems);
    for (auto& d : problems.take()) {
      out.add(where, key, d.message);
      value.reset();
    }
    if (!value) continue;
    relocate(*value, where);
    apply(key, std::move(*value), root, out);
  }
}

}  // namespace hvsim::scenario
