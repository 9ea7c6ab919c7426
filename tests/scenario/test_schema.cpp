// SPDX-License-Identifier: Apache-2.0
// Schema, reference page and parser name the same keys, because all come from the tables.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/scenario/parse.hpp"
#include "sim/scenario/schema.hpp"
#include "small_catalogue.hpp"

using namespace hvsim;
using nlohmann::json;

namespace {

// Dotted keys of all leaves below `properties`.
void leaves(const json& object, const std::string& prefix, std::set<std::string>& out) {
  for (const auto& [name, part] : object.at("properties").items()) {
    std::string key = prefix.empty() ? name : prefix + "." + name;
    if (part.contains("properties"))
      leaves(part, key, out);
    else
      out.insert(key);
  }
}

// Every schema must forbid what the parser forbids.
void check_closed(const json& node) {
  if (node.is_object() && node.contains("properties")) {
    CHECK(node.at("type") == "object");
    CHECK(node.at("additionalProperties") == false);
  }
  if (node.is_structured())
    for (const auto& part : node) check_closed(part);
}

}  // namespace

TEST_CASE("the schema names the keys of the tables", "[scenario][schema]") {
  auto catalogue = test::small_catalogue();
  json schema = json::parse(scenario::json_schema(catalogue));
  CHECK(schema.at("$schema") == "http://json-schema.org/draft-07/schema#");
  check_closed(schema);

  std::set<std::string> found;
  leaves(schema, "", found);
  std::set<std::string> expected{"schema_version", "name",     "description",
                                 "machine",        "workload", "expect"};
  for (const auto& p : catalogue.common) expected.insert(p.key);
  CHECK(found == expected);

  std::set<std::string> machine;
  leaves(schema["properties"]["machine"]["anyOf"][1], "machine", machine);
  std::set<std::string> machine_expected{"machine.profile"};
  for (const auto* table : {&catalogue.topology, &catalogue.costs})
    for (const auto& p : *table) machine_expected.insert(p.key);
  CHECK(machine == machine_expected);

  const auto& branches = schema["properties"]["workload"]["anyOf"];
  REQUIRE(branches.size() == catalogue.workloads.size() + 1);
  for (std::size_t i = 0; i < catalogue.workloads.size(); ++i) {
    std::set<std::string> keys;
    leaves(branches[i + 1], "workload", keys);
    std::set<std::string> wanted{"workload.type"};
    for (const auto& p : catalogue.workloads[i].parameters) wanted.insert(p.key);
    CHECK(keys == wanted);
  }
  CHECK(branches[1]["required"] == json({"type", "pages"}));
  CHECK(schema["properties"]["vm"]["properties"]["vcpus"]["maximum"] == 512);
  CHECK(schema["properties"]["vm"]["properties"]["placement"]["enum"] ==
        json({"compact", "spread", "list"}));
}

TEST_CASE("the parser's list of known keys is the schema's", "[scenario][schema]") {
  auto catalogue = test::small_catalogue();
  json schema = json::parse(scenario::json_schema(catalogue));
  auto result = scenario::parse_text(
      "schema_version: 1\nmachine: unit\nworkload: {type: touch, pages: 1}\n????: 1\n", "s.yaml",
      catalogue);
  REQUIRE(result.errors.size() == 1);
  std::string message = result.errors[0].message;
  std::string list = message.substr(message.find("known: ") + 7);
  std::set<std::string> known;
  for (std::size_t at = 0; at < list.size();) {
    auto end = std::min(list.find(", ", at), list.size());
    known.insert(list.substr(at, end - at));
    at = end + 2;
  }
  std::set<std::string> properties;
  for (const auto& [name, part] : schema["properties"].items()) properties.insert(name);
  CHECK(known == properties);
}

TEST_CASE("the reference page has a row for each key", "[scenario][schema]") {
  auto catalogue = test::small_catalogue();
  std::string page = scenario::reference_markdown(catalogue);
  auto row = [&](const registry::parameter& p) {
    INFO(p.key);
    CHECK(page.find("| `" + p.key + "` | ") != std::string::npos);
  };
  for (const auto* table : {&catalogue.common, &catalogue.topology, &catalogue.costs})
    for (const auto& p : *table) row(p);
  for (const auto& w : catalogue.workloads)
    for (const auto& p : w.parameters) row(p);
  for (const auto& k : catalogue.kernels)
    CHECK(page.find("| `" + k.name + "` | ") != std::string::npos);
  CHECK(page.ends_with("|\n"));
  CHECK(page.find("| `vm.vcpus` | integer | `1` | 1 to 512 | virtual CPUs |") != std::string::npos);
}
