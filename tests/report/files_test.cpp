// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>

#include "scratch.hpp"
#include "sim/report/atomic_file.hpp"
#include "sim/report/errors.hpp"
#include "sim/report/junit.hpp"
#include "xml.hpp"

using namespace hvsim;
namespace fs = std::filesystem;

namespace {

std::size_t entries(const fs::path& p) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(p), {}));
}

}  // namespace

TEST_CASE("a file is replaced whole and leaves nothing beside it", "[report]") {
  const test::scratch dir;
  const fs::path file = dir.path() / "deep" / "out.txt";
  report::write_file(file, "first");
  report::write_file(file, std::string("second\0x", 8));
  CHECK(test::content_of(file) == std::string("second\0x", 8));
  CHECK(entries(file.parent_path()) == 1);
}

TEST_CASE("a file that cannot be written names itself and keeps the old one", "[report]") {
  const test::scratch dir;
  report::write_file(dir.path() / "plain", "x");
  CHECK_THROWS_WITH(report::write_file(dir.path() / "plain" / "below", "y"),
                    Catch::Matchers::Contains("plain"));
  fs::create_directories(dir.path() / "folder" / "full");
  CHECK_THROWS_AS(report::write_file(dir.path() / "folder", "y"), report::output_error);
  CHECK(entries(dir.path()) == 2);
  CHECK(test::content_of(dir.path() / "plain") == "x");
}

TEST_CASE("what is no regular file is written into and stays what it is", "[report]") {
  const test::scratch dir;
  const fs::path pipe = dir.path() / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::string got;
  std::thread reader([&] { got = test::content_of(pipe); });
  {
    report::atomic_file file(pipe);
    file.append("count: 0\nbody\n");
    file.overwrite(7, "1");
    file.commit();
  }
  reader.join();
  CHECK(got == "count: 1\nbody\n");
  CHECK(fs::is_fifo(pipe));
  CHECK(entries(dir.path()) == 1);

  report::write_file("/dev/null", "");
  report::write_file("/dev/null", "x");
  CHECK(fs::is_character_file("/dev/null"));
  CHECK_THROWS_WITH(report::write_file("/dev/full", "x"),
                    Catch::Matchers::Contains("/dev/full: No space left"));
  CHECK(fs::is_character_file("/dev/full"));
}

TEST_CASE("a symbolic link stays and its file is replaced", "[report]") {
  const test::scratch dir;
  fs::create_directories(dir.path() / "real");
  report::write_file(dir.path() / "real" / "file", "old");
  fs::create_symlink("real/file", dir.path() / "link");
  report::write_file(dir.path() / "link", "new");
  CHECK(fs::is_symlink(dir.path() / "link"));
  CHECK(test::content_of(dir.path() / "real" / "file") == "new");
}

TEST_CASE("a name that cannot be written is refused before anything is made", "[report]") {
  const test::scratch dir;
  report::write_file(dir.path() / "plain", "x");
  fs::create_directories(dir.path() / "folder");
  for (const fs::path& bad : {fs::path(), dir.path() / "plain" / "below", dir.path() / "folder",
                              dir.path() / "new" / "", fs::path("/proc/none/file")}) {
    INFO(bad);
    CHECK_THROWS_AS(report::require_writable(bad), report::output_error);
  }
  CHECK_NOTHROW(report::require_writable(dir.path() / "new" / "deep" / "file"));
  CHECK_NOTHROW(report::require_writable(dir.path() / "plain"));
  CHECK_NOTHROW(report::require_writable("/dev/null"));
  CHECK_THROWS_AS(report::require_writable_folder(""), report::output_error);
  CHECK_THROWS_AS(report::require_writable_folder(dir.path() / "plain"), report::output_error);
  CHECK_NOTHROW(report::require_writable_folder(dir.path() / "folder"));
  CHECK_NOTHROW(report::require_writable_folder(dir.path() / "new" / "deep"));
  CHECK(entries(dir.path()) == 2);
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
