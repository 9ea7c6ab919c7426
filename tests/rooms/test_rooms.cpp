// SPDX-License-Identifier: Apache-2.0
// A folder is a namespace is a responsibility, and rooms know only rooms below them.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "rooms/rules.hpp"

namespace {

namespace fs = std::filesystem;

const fs::path top{HVSIM_SOURCE_DIR};

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Source files below the rooms' folders, as paths from the top.
std::vector<std::string> sources() {
  std::vector<std::string> out;
  for (const char* folder : {"sim", "mmu", "vcpu", "guest_workloads", "tools"})
    for (const auto& entry : fs::recursive_directory_iterator(top / folder))
      if (entry.path().extension() == ".cpp" || entry.path().extension() == ".hpp")
        out.push_back(fs::relative(entry.path(), top).generic_string());
  std::sort(out.begin(), out.end());
  return out;
}

std::string all_of(const std::vector<std::string>& complaints) {
  std::string out;
  for (const std::string& c : complaints) out += c + "\n";
  return out;
}

const std::string head = "// SPDX-License-Identifier: Apache-2.0\n";
const std::string body = "namespace hvsim::mmu {\n}\n";

}  // namespace

TEST_CASE("every source file keeps the rules of the house") {
  const std::vector<std::string> files = sources();
  REQUIRE(files.size() > 100);
  for (const std::string& file : files) {
    INFO(file);
    REQUIRE(rooms::room_of(file) != nullptr);
    CHECK(all_of(rooms::complaints(file, text_of(top / file))) == "");
  }
}

TEST_CASE("every include of a room names a file that exists") {
  static const std::regex include_line(R"re(^#include "([^"]*)".*)re");
  for (const std::string& file : sources())
    for (const std::string& line : rooms::lines_of(text_of(top / file))) {
      std::smatch m;
      if (!std::regex_match(line, m, include_line)) continue;
      INFO(file << ": " << line);
      CHECK(fs::is_regular_file(top / m[1].str()));
    }
}

TEST_CASE("scripts, build files and configs carry the licence") {
  std::size_t seen = 0;
  for (const auto& entry : fs::recursive_directory_iterator(top)) {
    const std::string path = fs::relative(entry.path(), top).generic_string();
    if (path.starts_with(".git/") || path.starts_with("build") || path.starts_with("out/") ||
        path.starts_with("tests/scenario/bad/") || path.starts_with("tests/fuzz/corpus/"))
      continue;
    const std::string ending = entry.path().extension().string();
    const bool checked = ending == ".sh" || ending == ".yaml" || ending == ".cmake" ||
                         ending == ".cpp" || ending == ".hpp" || path == ".ci/run" ||
                         entry.path().filename() == "CMakeLists.txt";
    if (!entry.is_regular_file() || !checked) continue;
    ++seen;
    INFO(path);
    const std::string text = text_of(entry.path());
    const std::size_t second_end = text.find('\n', text.find('\n') + 1);
    CHECK(text.substr(0, second_end).find("SPDX-License-Identifier: Apache-2.0") !=
          std::string::npos);
  }
  CHECK(seen > 150);
}

TEST_CASE("the rules find what they are there for") {
  using rooms::complaints;
  CHECK(complaints("mmu/a.cpp", head + body).empty());
  CHECK(complaints("mmu/a.cpp", head + "#include \"sim/engine/units.hpp\"\n" + body).empty());
  SECTION("an include from above") {
    const auto c = complaints("sim/sync/a.hpp",
                              head + "#include \"vcpu/vcpu.hpp\"\nnamespace hvsim::sync {\n}\n");
    REQUIRE(c.size() == 1);
    CHECK(c[0] == "sim/sync/a.hpp:2: sim/sync may not include vcpu");
  }
  SECTION("the tables learn of a clock") {
    CHECK(complaints("mmu/a.cpp", head + "#include \"sim/engine/engine.hpp\"\n" + body).size() ==
          1);
    CHECK(complaints("mmu/a.cpp", head + "#include \"sim/sync/locks.hpp\"\n" + body).size() == 1);
  }
  SECTION("a relative include") {
    CHECK(complaints("mmu/a.cpp", head + "#include \"tlb.hpp\"\n" + body).size() == 1);
  }
  SECTION("a namespace of another room, or none") {
    CHECK(complaints("mmu/a.cpp", head + "namespace hvsim::vcpu {\n}\n").size() == 1);
    CHECK(complaints("mmu/a.cpp", head + "namespace hvsim {\n}\n").size() == 1);
    CHECK(complaints("mmu/a.cpp", head + "int x;\n").size() == 1);
  }
  SECTION("no licence") {
    CHECK(complaints("mmu/a.cpp", body).size() == 1);
  }
  SECTION("a long file") {
    std::string text = head + body;
    for (int i = 0; i < 498; ++i) text += "\n";
    CHECK(complaints("mmu/a.cpp", text).size() == 1);
  }
  SECTION("a library that prints or exits") {
    CHECK(complaints("mmu/a.cpp", head + body + "void f() { std::cout << 1; }\n").size() == 1);
    CHECK(complaints("mmu/a.cpp", head + body + "void f() { std::exit(1); }\n").size() == 1);
    CHECK(
        complaints("tools/a.cpp", head + "namespace hvsim::tools {\n std::exit(1);\n}\n").empty());
  }
}
