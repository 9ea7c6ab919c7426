// SPDX-License-Identifier: Apache-2.0
// Every file of bad/ gives exactly the diagnostics of its .expected: one line each,
// "LINE:COLUMN PATH | PHRASE" with "-" for an empty path; the phrase is part of the message.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sim/scenario/parse.hpp"
#include "sim/scenario/render.hpp"
#include "small_catalogue.hpp"

namespace {

namespace fs = std::filesystem;
using namespace hvsim;

struct expected_line {
  std::string place, path, phrase;
};

std::vector<expected_line> read_expected(const fs::path& path) {
  std::ifstream in(path);
  std::vector<expected_line> lines;
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) continue;
    auto space = line.find(' ');
    auto bar = line.find(" | ");
    REQUIRE(bar != std::string::npos);
    std::string key = line.substr(space + 1, bar - space - 1);
    lines.push_back({line.substr(0, space), key == "-" ? "" : key, line.substr(bar + 3)});
  }
  return lines;
}

}  // namespace

TEST_CASE("bad scenarios give the expected diagnostics", "[scenario][bad]") {
  const auto catalogue = test::small_catalogue();
  const fs::path folder = fs::path(HVSIM_SOURCE_DIR) / "tests/scenario/bad";
  std::size_t cases = 0;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    ++cases;
    auto result = scenario::parse_file(file.string(), catalogue);
    auto expected = read_expected(fs::path(file).replace_extension(".expected"));
    INFO(file.filename().string() << "\n" << scenario::to_text(result.errors, result.sources));
    CHECK_FALSE(result);
    CHECK(result.errors.size() == expected.size());
    if (result.errors.size() != expected.size()) continue;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto& d = result.errors[i];
      CHECK(std::to_string(d.where.line) + ":" + std::to_string(d.where.column) ==
            expected[i].place);
      CHECK(d.where.file == file.string());
      CHECK(d.path == expected[i].path);
      CHECK_THAT(d.message, Catch::Matchers::Contains(expected[i].phrase));
    }
  }
  CHECK(cases >= 35);
}
