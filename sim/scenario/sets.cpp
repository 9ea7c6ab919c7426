// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/sets.hpp"

#include "sim/scenario/parse.hpp"

namespace hvsim::scenario {
namespace {

using registry::node;
using registry::position;

const position set_position{"--set", 0, 0};

void relocate(node& n) {
  n.where = set_position;
  for (auto& item : n.items) relocate(item);
  for (auto& [key, value] : n.members) {
    relocate(key);
    relocate(value);
  }
}

node key_node(std::string_view name) {
  node n;
  n.scalar = name;
  n.where = set_position;
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
  if (!long_key.empty() && !is_null(n)) mapping.members.emplace_back(key_node(long_key), n);
  n = std::move(mapping);
}

node& member(node& mapping, std::string_view name) {
  for (auto& [key, value] : mapping.members)
    if (key.scalar == name) {
      key.where = set_position;
      return value;
    }
  node fresh;
  fresh.where = set_position;
  mapping.members.emplace_back(key_node(name), std::move(fresh));
  return mapping.members.back().second;
}

void apply(std::string_view key, node value, node& root, sink& out) {
  node* at = &root;
  std::string_view parent;
  std::string_view rest = key;
  while (true) {
    auto dot = rest.find('.');
    std::string_view name = rest.substr(0, dot);
    if (name.empty()) {
      out.add(set_position, std::string(key), "a part of the key is empty");
      return;
    }
    if (at != &root) expand_short_form(*at, parent);
    if (!is_mapping(*at)) {
      out.add(set_position, std::string(key), "--set cannot reach into a list; set all of it");
      return;
    }
    at = &member(*at, name);
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
  for (const auto& text : sets) {
    auto split = split_set(text);
    if (!split) {
      out.add(set_position, {}, "'" + text + "' is not of the form dotted.key=value");
      continue;
    }
    const auto& [key, value_text] = *split;
    constexpr std::size_t longest_key = 256;
    if (key.size() > longest_key) {
      out.add(set_position, {}, "the key is longer than " + std::to_string(longest_key));
      continue;
    }
    sink problems;
    auto value = load_tree(value_text, "--set", problems);
    for (auto& d : problems.take()) {
      out.add(set_position, key, d.message);
      value.reset();
    }
    if (!value) continue;
    relocate(*value);
    apply(key, std::move(*value), root, out);
  }
}

}  // namespace hvsim::scenario
