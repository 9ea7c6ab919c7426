// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "sim/report/atomic_file.hpp"
#include "sim/report/errors.hpp"
#include "sim/report/junit.hpp"
#include "xml.hpp"

using namespace hvsim;
namespace fs = std::filesystem;

namespace {

/// A directory of this test alone, gone at its end.
struct scratch {
  fs::path path = fs::temp_directory_path() / ("hvsim-report-" + std::to_string(::getpid()));
  scratch() {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~scratch() { fs::remove_all(path); }
};

std::string content_of(const fs::path& p) {
  std::ifstream in(p, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::size_t entries(const fs::path& p) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(p), {}));
}

}  // namespace

TEST_CASE("a file is replaced whole and leaves nothing beside it", "[report]") {
  const scratch dir;
  const fs::path file = dir.path / "deep" / "out.txt";
  report::write_file(file, "first");
  report::write_file(file, std::string("second\0x", 8));
  CHECK(content_of(file) == std::string("second\0x", 8));
  CHECK(entries(file.parent_path()) == 1);
}

TEST_CASE("a file that cannot be written names itself and keeps the old one", "[report]") {
  const scratch dir;
  report::write_file(dir.path / "plain", "x");
  CHECK_THROWS_WITH(report::write_file(dir.path / "plain" / "below", "y"),
                    Catch::Matchers::Contains("plain"));
  fs::create_directories(dir.path / "folder" / "full");
  CHECK_THROWS_AS(report::write_file(dir.path / "folder", "y"), report::output_error);
  CHECK(entries(dir.path) == 2);
  CHECK(content_of(dir.path / "plain") == "x");
}

TEST_CASE("JUnit counts outcomes and escapes messages", "[report]") {
  using outcome = report::junit_case::outcome;
  const std::string xml =
      report::to_junit("checks", {{"a.yaml", "fine", outcome::passed, ""},
                                  {"a.yaml", "miss", outcome::failed, "1 < 2"},
                                  {"b.yaml", "run", outcome::error, "a\nb\x01"}});
  const auto root = test::xml_reader(xml).document();
  CHECK(root.name == "testsuites");
  const auto suites = root.all("testsuite");
  REQUIRE(suites.size() == 1);
  CHECK(suites[0]->attributes.at("tests") == "3");
  CHECK(suites[0]->attributes.at("failures") == "1");
  CHECK(suites[0]->attributes.at("errors") == "1");
  CHECK(root.all("testcase").size() == 3);
  REQUIRE(root.all("failure").size() == 1);
  CHECK(root.all("failure")[0]->attributes.at("message") == "1 < 2");
  REQUIRE(root.all("error").size() == 1);
  CHECK(root.all("error")[0]->attributes.at("message") == "a\nb?");
}
