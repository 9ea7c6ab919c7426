// SPDX-License-Identifier: Apache-2.0
// The documentation names what exists and shows code that compiles.
#include <algorithm>
#include <catch2/catch.hpp>

#include "docs/markdown.hpp"
#include "sim/experiment/catalogue.hpp"
#include "sim/scenario/schema.hpp"

namespace {

namespace fs = std::filesystem;

const fs::path top{HVSIM_SOURCE_DIR};

std::vector<fs::path> pages() {
  std::vector<fs::path> out;
  for (const fs::path& folder : {top, top / "docs"})
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.path().extension() == ".md") out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

TEST_CASE("the README names the two commands") {
  const std::string readme = docs::text_of(top / "README.md");
  for (const char* script : {"tools/reproduce.sh", "tools/test.sh"}) {
    CHECK(readme.find(script) != std::string::npos);
    CHECK(fs::exists(top / script));
  }
}

TEST_CASE("every relative link leads to a file") {
  std::size_t seen = 0;
  REQUIRE(pages().size() >= 7);
  for (const fs::path& page : pages())
    for (const std::string& link : docs::links_of(docs::text_of(page))) {
      if (link.find("://") != std::string::npos || link.starts_with("#")) continue;
      ++seen;
      INFO(page.filename().string() << ": " << link);
      CHECK(fs::exists(page.parent_path() / link.substr(0, link.find('#'))));
    }
  CHECK(seen > 10);
}

TEST_CASE("the scenario reference is what the program prints") {
  hvsim::registry::catalogue catalogue = hvsim::experiment::builtin_catalogue();
  std::vector<fs::path> machines;
  for (const auto& entry : fs::directory_iterator(top / "configs/machines"))
    if (entry.path().extension() == ".yaml") machines.push_back(entry.path());
  std::sort(machines.begin(), machines.end());
  for (const fs::path& file : machines)
    catalogue.machines.emplace_back(file.stem().string(), docs::text_of(file));
  INFO("build hvsim and run: hvsim schema --markdown > docs/scenarios.md");
  const bool current =
      docs::text_of(top / "docs/scenarios.md") == hvsim::scenario::reference_markdown(catalogue);
  CHECK(current);
}

TEST_CASE("the model page has every cost with its kind, and every switch") {
  const std::string page = docs::text_of(top / "docs/model.md");
  static const std::regex cost(R"(^  ([a-z_]+): \{value: .*kind: ([a-z]+),.*)");
  std::istringstream profile(docs::text_of(top / "configs/machines/altra-64.yaml"));
  std::size_t costs = 0;
  for (std::string line; std::getline(profile, line);) {
    std::smatch m;
    if (!std::regex_match(line, m, cost)) continue;
    ++costs;
    INFO(line);
    CHECK(page.find("| `" + m[1].str() + "` | " + m[2].str() + " |") != std::string::npos);
  }
  CHECK(costs >= 30);
  for (const auto& p : hvsim::experiment::builtin_catalogue().common) {
    if (!p.key.starts_with("hypervisor.") || p.key == "hypervisor.kernel") continue;
    INFO(p.key);
    CHECK(page.find("`" + p.key.substr(11) + "`") != std::string::npos);
  }
}

TEST_CASE("code in the pages is the code of the examples") {
  std::size_t examples = 0;
  for (const fs::path& page : pages())
    for (const docs::code_block& block : docs::blocks_of(docs::text_of(page))) {
      if (block.source.empty()) continue;
      ++examples;
      INFO(page.filename().string() << ": " << block.source);
      CHECK(docs::text_of(top / block.source) == block.text);
      CHECK(std::count(block.text.begin(), block.text.end(), '\n') < 60);
    }
  CHECK(examples >= 2);
}

TEST_CASE("changes shown in the pages fit the sources") {
  std::size_t hunks = 0;
  for (const fs::path& page : pages())
    for (const docs::code_block& block : docs::blocks_of(docs::text_of(page))) {
      if (block.language != "diff") continue;
      CHECK(std::count(block.text.begin(), block.text.end(), '\n') < 60);
      for (const docs::hunk& h : docs::hunks_of(block.text)) {
        ++hunks;
        INFO(page.filename().string() << ", in " << h.file << ":\n" << h.before);
        REQUIRE_FALSE(h.before.empty());
        const std::string now = docs::squeezed(docs::text_of(top / h.file));
        const bool fits = now.find(docs::squeezed(h.before)) != std::string::npos;
        CHECK(fits);
      }
    }
  CHECK(hunks >= 10);
}

TEST_CASE("links, blocks and hunks are found") {
  CHECK(docs::links_of("a [b](c.md#d) ![e](f.svg)") == std::vector<std::string>{"c.md#d", "f.svg"});
  const auto blocks = docs::blocks_of("x\n<!-- file: a/b.hpp -->\n```cpp\nint i;\n```\n");
  REQUIRE(blocks.size() == 1);
  CHECK(blocks[0].language == "cpp");
  CHECK(blocks[0].source == "a/b.hpp");
  CHECK(blocks[0].text == "int i;\n");
  const auto hunks = docs::hunks_of("+++ a.cpp\n kept\n-gone\n+new\n@@\n kept too\n+more\n");
  REQUIRE(hunks.size() == 2);
  CHECK(hunks[0].before == "kept\ngone\n");
  CHECK(hunks[1].file == "a.cpp");
  CHECK(hunks[1].before == "kept too\n");
  CHECK(docs::squeezed(" a  b\n   c\n") == "a b c");
}
