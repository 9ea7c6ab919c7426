// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/schema.hpp"

#include <nlohmann/json.hpp>
#include <string_view>

#include "sim/scenario/units.hpp"

namespace hvsim::scenario {
namespace {

using json = nlohmann::ordered_json;
using registry::parameter;
using registry::value_type;

constexpr const char* size_pattern = R"(^[0-9]+(\.[0-9]+)? *(B|KiB|MiB|GiB|TiB|K|M|G|T)$|^0$)";
constexpr const char* time_pattern = R"(^[0-9]+(\.[0-9]+)? *(ps|ns|us|ms|s)$|^0$)";
constexpr const char* rate_pattern =
    R"(^[0-9]+(\.[0-9]+)? *(B|KB|MB|GB|TB|KiB|MiB|GiB|TiB)/s$|^0$)";
constexpr const char* percent_pattern = R"(^[0-9]+(\.[0-9]+)? *%$)";

// A quantity is text with a unit; a bare 0 needs none.
json with_unit(const char* pattern) {
  return {{"anyOf", json::array({{{"type", "string"}, {"pattern", pattern}}, {{"const", 0}}})}};
}

json number(const parameter& p, const char* type) {
  json out{{"type", type}};
  auto bound = [&](const char* name, const std::optional<double>& b) {
    if (!b) return;
    if (p.type == value_type::real)
      out[name] = *b;
    else if (*b > -9e15 && *b < 9e15)
      out[name] = static_cast<std::int64_t>(*b);
  };
  bound("minimum", p.min);
  bound("maximum", p.max);
  return out;
}

json type_schema(const parameter& p) {
  switch (p.type) {
    case value_type::boolean:
      return {{"type", "boolean"}};
    case value_type::integer:
      return number(p, "integer");
    case value_type::real:
      return number(p, "number");
    case value_type::size:
      return with_unit(size_pattern);
    case value_type::time:
      return with_unit(time_pattern);
    case value_type::rate:
      return with_unit(rate_pattern);
    case value_type::choice:
      return {{"enum", p.choices}};
    case value_type::text:
      return {{"type", json::array({"string", "number", "boolean"})}};
    case value_type::list:
      return {{"type", "array"}, {"items", number(p, "integer")}};
    case value_type::structure:
      return {{"type", json::array({"object", "array"})}};
  }
  return json::object();
}

json mapping() {
  return {{"type", "object"}, {"additionalProperties", false}, {"properties", json::object()}};
}

// Adds `p` under `root`, whose key is `prefix`, with mappings for the parts between.
void add_parameter(json& root, std::string_view prefix, const parameter& p) {
  std::string_view rest = p.key;
  if (!prefix.empty()) rest.remove_prefix(prefix.size() + 1);
  json* at = &root;
  for (auto dot = rest.find('.'); dot != std::string_view::npos; dot = rest.find('.')) {
    json& next = (*at)["properties"][std::string(rest.substr(0, dot))];
    if (next.is_null()) next = mapping();
    at = &next;
    rest.remove_prefix(dot + 1);
  }
  json leaf = type_schema(p);
  leaf["description"] = p.help;
  if (!p.default_value.empty()) leaf["default"] = p.default_value;
  (*at)["properties"][std::string(rest)] = leaf;
  if (p.default_value.empty()) (*at)["required"].push_back(std::string(rest));
}

json machine_schema(const registry::catalogue& catalogue) {
  json names = json::array();
  for (const auto& [name, text] : catalogue.machines) names.push_back(name);
  json name{{"anyOf",
             json::array({{{"enum", names}}, {{"type", "string"}, {"pattern", R"(\.ya?ml$)"}}})}};
  if (names.empty()) name = {{"type", "string"}};
  json full = mapping();
  full["properties"]["profile"] = name;
  for (const auto* table : {&catalogue.topology, &catalogue.costs})
    for (auto p : *table) {
      // An override is never required.
      add_parameter(full, "machine", p);
    }
  for (auto& [key, section] : full["properties"].items())
    if (section.is_object()) section.erase("required");
  full["required"] = json::array({"profile"});
  return {{"description", "the machine under the run"}, {"anyOf", json::array({name, full})}};
}

json workload_schema(const registry::catalogue& catalogue) {
  json names = json::array();
  json branches = json::array();
  for (const auto& w : catalogue.workloads) {
    names.push_back(w.name);
    json branch = mapping();
    branch["description"] = w.help;
    branch["properties"]["type"] = {{"const", w.name}};
    branch["required"].push_back("type");
    for (const auto& p : w.parameters) add_parameter(branch, "workload", p);
    branches.push_back(std::move(branch));
  }
  branches.insert(branches.begin(), json{{"enum", names}});
  return {{"description", "what the guest does"}, {"anyOf", branches}};
}

json expect_schema() {
  json any_number{{"type", json::array({"number", "string"})}};
  json percent{{"type", "string"}, {"pattern", percent_pattern}};
  json changes{{"type", "object"}, {"minProperties", 1}};
  json item = mapping();
  item["properties"] = {{"what", {{"type", "string"}}},
                        {"name", {{"type", "string"}}},
                        {"equals", any_number},
                        {"value", any_number},
                        {"tolerance", percent},
                        {"min", any_number},
                        {"max", any_number},
                        {"ratio_to", {{"type", "string"}}},
                        {"over", changes},
                        {"against", changes}};
  item["required"] = json::array({"what"});
  return {{"description", "what the results must be"},
          {"type", json::array({"array", "null"})},
          {"items", item}};
}

}  // namespace

std::string json_schema(const registry::catalogue& catalogue) {
  json root{{"$schema", "http://json-schema.org/draft-07/schema#"},
            {"title", "hvsim scenario"},
            {"type", "object"},
            {"additionalProperties", false},
            {"patternProperties", {{"^x-", json::object()}}},
            {"properties", json::object()}};
  auto& top = root["properties"];
  top["schema_version"] = {{"const", 1}, {"description", "version of the scenario format"}};
  top["name"] = {{"type", json::array({"string", "number"})},
                 {"description", "name of the run; default: the file's name"}};
  top["description"] = {{"type", "string"}, {"description", "free text"}};
  top["machine"] = machine_schema(catalogue);
  for (const auto& p : catalogue.common) add_parameter(root, "", p);
  top["workload"] = workload_schema(catalogue);
  top["expect"] = expect_schema();
  for (const char* key : {"schema_version", "machine", "workload"}) root["required"].push_back(key);
  // A mapping with a required key is itself required.
  for (const auto& [key, part] : top.items())
    if (part.value("type", json()) == "object" && part.contains("required"))
      root["required"].push_back(key);
  return root.dump(2) + "\n";
}

}  // namespace hvsim::scenario
