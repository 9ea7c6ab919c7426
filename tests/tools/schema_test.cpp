// SPDX-License-Identifier: Apache-2.0
// configs/scenario.schema.json is what the program prints, and editors find it.
#include <catch2/catch.hpp>

#include "program.hpp"

using namespace hvsim;
namespace fs = std::filesystem;

TEST_CASE("the committed schema is the program's", "[tools]") {
  const test::ended e = test::hvsim("schema");
  REQUIRE(e.code == 0);
  // To renew it: hvsim schema > configs/scenario.schema.json
  CHECK(test::content_of(HVSIM_SOURCE_DIR "/configs/scenario.schema.json") == e.out);
}

TEST_CASE("the first line of every scenario that names a schema names one that exists", "[tools]") {
  const std::string mark = "# yaml-language-server: $schema=";
  std::size_t found = 0;
  for (const auto& entry : fs::recursive_directory_iterator(HVSIM_SOURCE_DIR "/configs")) {
    if (entry.path().extension() != ".yaml") continue;
    const std::string text = test::content_of(entry.path());
    if (!text.starts_with(mark)) continue;
    ++found;
    const std::string name = text.substr(mark.size(), text.find('\n') - mark.size());
    INFO(entry.path() << " names " << name);
    CHECK(fs::is_regular_file(entry.path().parent_path() / name));
  }
  CHECK(found >= 10);
}
