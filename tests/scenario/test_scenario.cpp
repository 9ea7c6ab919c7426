// SPDX-License-Identifier: Apache-2.0
// Good scenarios: values, precedence, --set, structures, round trip.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "sim/scenario/parse.hpp"
#include "sim/scenario/render.hpp"
#include "small_catalogue.hpp"

using namespace hvsim;
using Catch::Matchers::Contains;

namespace {

const std::string head = "schema_version: 1\nmachine: unit\nworkload: {type: touch, pages: 4}\n";

scenario::parsed<scenario::scenario> parse(const std::string& text,
                                           const std::vector<std::string>& sets = {}) {
  return scenario::parse_text(text, "folder/demo.yaml", test::small_catalogue(), sets);
}

scenario::scenario good(const std::string& text, const std::vector<std::string>& sets = {}) {
  auto result = parse(text, sets);
  INFO(scenario::to_text(result.errors, result.sources));
  REQUIRE(result);
  return std::move(*result.value);
}

}  // namespace

TEST_CASE("a minimal scenario has every default", "[scenario]") {
  auto s = good(head);
  CHECK(s.name == "demo");
  CHECK(s.workload == "touch");
  CHECK(s.values.integer("seed") == 1);
  CHECK(s.values.integer("vm.vcpus") == 1);
  CHECK(s.values.size("vm.memory") == engine::gibibytes(1));
  CHECK(s.values.time("host.tick") == engine::milliseconds(4));
  CHECK(s.values.text("host.label").empty());
  CHECK(s.values.list("vm.cores").empty());
  CHECK(s.values.integer("workload.pages") == 4);
  CHECK(s.values.time("workload.think") == engine::duration{0});
  CHECK(s.values.time("machine.costs.trap") == engine::nanoseconds(100));
  CHECK(s.machine.name == "unit");
  CHECK(s.machine.values.boolean("machine.features.range_tlbi"));
}

TEST_CASE("values of each type are read", "[scenario]") {
  auto s = good(head + R"(name: all types
seed: 0x10
vm: {vcpus: 3, memory: 1.5GiB, placement: list, cores: [0, 2, 4]}
hypervisor: {eager_split: true, dirty: {chunk: 64K}}
host: {tick: 250us, bandwidth_share: 0.25, label: "null"}
)");
  CHECK(s.name == "all types");
  CHECK(s.values.integer("seed") == 16);
  CHECK(s.values.size("vm.memory").value() == 1610612736);
  CHECK(s.values.text("vm.placement") == "list");
  CHECK(s.values.list("vm.cores") == std::vector<std::int64_t>{0, 2, 4});
  CHECK(s.values.boolean("hypervisor.eager_split"));
  CHECK(s.values.size("hypervisor.dirty.chunk").value() == 65536);
  CHECK(s.values.time("host.tick") == engine::microseconds(250));
  CHECK(s.values.real("host.bandwidth_share") == 0.25);
  CHECK(s.values.text("host.label") == "null");
}

TEST_CASE("preset under file under --set", "[scenario][precedence]") {
  auto lock = [](const scenario::scenario& s) { return s.values.text("hypervisor.mmu_lock"); };
  CHECK(lock(good(head)) == "spinlock");
  auto b = good(head + "hypervisor: {kernel: linux-b}\n");
  CHECK(lock(b) == "rwlock");
  CHECK(b.values.boolean("hypervisor.eager_split"));
  // The written switch wins whichever side of the preset it stands on.
  CHECK(lock(good(head + "hypervisor: {mmu_lock: spinlock, kernel: linux-b}\n")) == "spinlock");
  CHECK(lock(good(head + "hypervisor: {kernel: linux-b, mmu_lock: spinlock}\n")) == "spinlock");
  CHECK(lock(good(head, {"hypervisor.kernel=linux-b"})) == "rwlock");
  CHECK(lock(good(head + "hypervisor: {mmu_lock: spinlock}\n", {"hypervisor.kernel=linux-b"})) ==
        "spinlock");
  CHECK(lock(good(head + "hypervisor: {mmu_lock: spinlock}\n", {"hypervisor.mmu_lock=rwlock"})) ==
        "rwlock");
  CHECK(good(head, {"seed=2", "seed=3"}).values.integer("seed") == 3);
}

TEST_CASE("set reaches every key and is checked like the file", "[scenario][set]") {
  auto s = good(head, {"machine.costs.trap=7ns", "workload.pages=9", "vm.cores=[1, 2]"});
  CHECK(s.values.time("machine.costs.trap") == engine::nanoseconds(7));
  CHECK(s.machine.costs[0].overridden);
  CHECK_FALSE(s.machine.costs[1].overridden);
  CHECK(s.values.integer("workload.pages") == 9);
  CHECK(s.values.list("vm.cores") == std::vector<std::int64_t>{1, 2});
  CHECK(good("schema_version: 1\nworkload: touch\n", {"machine=unit", "workload.pages=1"})
            .values.integer("workload.pages") == 1);

  struct bad {
    const char* set;
    const char* path;
    const char* phrase;
  };
  for (const auto& b :
       {bad{"vm.vcpu=2", "vm.vcpu", "did you mean 'vcpus'?"},
        bad{"vm.vcpus=many", "vm.vcpus", "whole number"},
        bad{"vm.memory=4", "vm.memory", "did you mean 4GiB?"},
        bad{"vm=3", "vm", "expected a mapping"}, bad{"vm..vcpus=3", "vm..vcpus", "empty"},
        bad{"vm.vcpus", "", "not of the form"}, bad{"=3", "", "not of the form"},
        bad{"vm.vcpus=[", "vm.vcpus", "YAML"}, bad{"vm.vcpus=", "vm.vcpus", "has no value"},
        bad{"vm.vcpus=1\n--- \n2", "vm.vcpus", "second document"},
        bad{"machine=nope", "machine", "unknown machine"}}) {
    INFO(b.set);
    auto result = parse(head, {b.set});
    REQUIRE(result.errors.size() == 1);
    CHECK(result.errors[0].where.file == "--set");
    CHECK(result.errors[0].where.line == 0);
    CHECK(result.errors[0].path == b.path);
    CHECK_THAT(result.errors[0].message, Contains(b.phrase));
    CHECK(scenario::to_line(result.errors[0]).starts_with("--set: error: "));
  }
}

TEST_CASE("structures keep their tree and positions", "[scenario]") {
  auto s = good(
      "schema_version: 1\nmachine: unit\nworkload:\n  type: regions\n  regions:\n"
      "    - {start: 0, size: &size 4KiB}\n    - {start: 4096, size: *size}\n");
  const auto* n = s.structure("workload.regions");
  REQUIRE(n != nullptr);
  REQUIRE(n->items.size() == 2);
  CHECK(n->items[1].members[1].second.scalar == "4KiB");
  CHECK(n->items[1].where.line == 7);
  CHECK(n->items[1].where.column == 7);
  CHECK(s.texts.at("workload.regions") == "[{start: 0, size: 4KiB}, {start: 4096, size: 4KiB}]");
}

TEST_CASE("CRLF, a byte order mark, x- keys and anchors are fine", "[scenario]") {
  std::string text =
      "\xef\xbb\xbfschema_version: 1\r\nx-note: {any: thing}\r\nmachine: unit\r\n"
      "vm: {vcpus: &n 2}\r\nworkload: {type: touch, pages: *n}\r\n";
  auto s = good(text);
  CHECK(s.values.integer("workload.pages") == 2);
}

TEST_CASE("the effective scenario is sorted, complete and parses to itself", "[scenario]") {
  auto s = good(head + R"(name: "round: trip"
description: |
  two
  lines
vm: {vcpus: 2, cores: [1, 3]}
hypervisor: {kernel: linux-b}
)",
                {"machine.costs.hop=2.5ns"});
  auto effective = s.effective();
  CHECK(std::is_sorted(effective.begin(), effective.end()));
  auto catalogue = test::small_catalogue();
  // machine.profile and workload.type come on top of the tables.
  CHECK(effective.size() == catalogue.common.size() + catalogue.topology.size() +
                                catalogue.costs.size() + catalogue.workloads[0].parameters.size() +
                                2);
  auto again = good(scenario::to_yaml(s));
  CHECK(again.effective() == effective);
  CHECK(again.name == s.name);
  CHECK(again.description == "two\nlines\n");
  CHECK(again.texts.at("machine.costs.hop") == "2500ps");
}

TEST_CASE("files that cannot be read say why", "[scenario]") {
  namespace fs = std::filesystem;
  auto catalogue = test::small_catalogue();
  auto one = [&](const std::string& path, const char* phrase) {
    auto result = scenario::parse_file(path, catalogue);
    INFO(path);
    CHECK(result.unreadable);
    REQUIRE(result.errors.size() == 1);
    CHECK(result.errors[0].where.file == path);
    CHECK_THAT(result.errors[0].message, Contains(phrase));
  };
  one("/nowhere/at/all.yaml", "no such file");
  one(fs::temp_directory_path().string(), "is a directory");
  std::string big(scenario::max_file_bytes + 1, '#');
  auto result = scenario::parse_text(big, "big.yaml", catalogue);
  REQUIRE(result.errors.size() == 1);
  CHECK_THAT(result.errors[0].message, Contains("at most 1048576"));
}

TEST_CASE("errors are capped and counted", "[scenario]") {
  std::string text = head;
  for (int i = 0; i < 500; ++i) text += "k" + std::to_string(i) + ": 1\n";
  auto result = parse(text);
  REQUIRE(result.errors.size() == scenario::max_diagnostics + 1);
  CHECK_THAT(result.errors.back().message, Contains("400 more errors"));
}

TEST_CASE("rules blame a key at its place", "[scenario][rules]") {
  std::vector<scenario::rule> rules{
      {"vm.memory", [](const scenario::scenario& s) -> std::optional<std::string> {
         if (s.values.integer("workload.pages") * 4096 <= s.values.integer("vm.memory"))
           return std::nullopt;
         return "impossible combination: more pages than memory";
       }}};
  auto catalogue = test::small_catalogue();
  std::string text = head + "vm:\n  memory: 8KiB\n";
  auto result = scenario::parse_text(text, "a.yaml", catalogue, {}, rules);
  REQUIRE(result.errors.size() == 1);
  CHECK(scenario::to_text(result.errors, result.sources) ==
        "a.yaml:5:3: error: vm.memory: impossible combination: more pages than memory\n"
        "  5 |   memory: 8KiB\n"
        "    |   ^\n");
  CHECK(scenario::parse_text(text, "a.yaml", catalogue, {"workload.pages=2"}, rules));
  // Unwritten keys are blamed at the nearest thing that was written.
  auto s = good(head);
  CHECK(s.where("workload.think").line == 3);
  CHECK(s.where("vm.memory").line == 1);
}

TEST_CASE("a caret stands under the column, also after tabs and umlauts", "[scenario][render]") {
  scenario::source_texts sources{{"f", "a\n\t\xc3\xa4: x\n"}};
  registry::diagnostic d{{"f", 2, 6}, "k", "wrong"};
  CHECK(scenario::to_text(d, sources) ==
        "f:2:6: error: k: wrong\n  2 | \t\xc3\xa4: x\n    | \t   ^\n");
  CHECK(scenario::to_line(d) == "f:2:6: error: k: wrong");
  CHECK(scenario::to_text({{"g", 1, 1}, "", "wrong"}, sources) == "g:1:1: error: wrong\n");
}
