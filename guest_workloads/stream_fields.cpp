// SPDX-License-Identifier: Apache-2.0
#include "guest_workloads/stream_fields.hpp"

#include <algorithm>

#include "sim/scenario/units.hpp"

namespace hvsim::workloads {

namespace {

using registry::node;
using registry::value_type;

bool takes_quotes(value_type t) {
  return t == value_type::text || t == value_type::choice;
}

}  // namespace

std::string shape_of(const node& n) {
  if (n.what == node::kind::mapping) return "a mapping";
  if (n.what == node::kind::sequence) return "a list";
  return n.scalar.empty() && !n.quoted ? "nothing" : "'" + n.scalar + "'";
}

stream_fields::stream_fields(const node& written, std::string path,
                             const std::vector<registry::parameter>& table,
                             const std::vector<std::string>& structures,
                             std::vector<registry::diagnostic>& out)
    : node_(written), path_(std::move(path)), out_(out) {
  if (written.what != node::kind::mapping) {
    out_.push_back({written.where, path_, "expected a mapping; got " + shape_of(written)});
    ok_ = false;
    return;
  }
  std::vector<std::string> known;
  for (const auto& p : table) known.push_back(p.key);
  known.insert(known.end(), structures.begin(), structures.end());
  for (const auto& [key, value] : written.members) {
    if (std::find(known.begin(), known.end(), key.scalar) != known.end()) continue;
    out_.push_back(
        {key.where, path_ + "." + key.scalar, scenario::unknown_word("key", key.scalar, known)});
    ok_ = false;
  }
  for (const auto& p : table) {
    if (const node* value = find(p.key)) {
      read(*value, p);
    } else if (p.default_value.empty()) {
      complain(p.key, "required key is missing; expected " + scenario::describe(p.type) + " (" +
                          p.help + ")");
    }
    if (!values.has(p.key) && !p.default_value.empty())
      values.set(p.key, *scenario::parse_value(p, p.default_value).value);
  }
}

void stream_fields::read(const node& value, const registry::parameter& p) {
  const bool is_scalar = value.what == node::kind::scalar;
  const std::string expected = scenario::describe(p.type);
  if (!is_scalar || (value.scalar.empty() && !value.quoted)) {
    complain(p.key, "expected " + expected + "; got " + shape_of(value));
    return;
  }
  if (value.quoted && !takes_quotes(p.type)) {
    complain(p.key,
             "expected " + expected + "; got the text '" + value.scalar + "' (remove the quotes)");
    return;
  }
  auto v = scenario::parse_value(p, value.scalar);
  if (!v) {
    complain(p.key, v.error);
    return;
  }
  values.set(p.key, std::move(*v.value));
}

const node* stream_fields::find(std::string_view key) const {
  for (const auto& [k, value] : node_.members)
    if (k.scalar == key) return &value;
  return nullptr;
}

void stream_fields::complain(std::string_view key, std::string message) {
  const node* at = find(key);
  out_.push_back({at != nullptr ? at->where : node_.where, path_ + "." + std::string(key),
                  std::move(message)});
  ok_ = false;
}

}  // namespace hvsim::workloads
