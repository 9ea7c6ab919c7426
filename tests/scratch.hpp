// SPDX-License-Identifier: Apache-2.0
// Folders and files of one test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace hvsim::test {

inline std::string content_of(const std::filesystem::path& p) {
  std::ifstream in(p, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A folder of its own that goes away with the test.
class scratch {
 public:
  scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "hvsim-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no scratch folder");
    path_ = name;
  }
  ~scratch() { std::filesystem::remove_all(path_); }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::string at(const std::string& name) const { return (path_ / name).string(); }
  /// Writes a file and returns its path.
  std::string file(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << content;
    return at(name);
  }

 private:
  std::filesystem::path path_;
};

}  // namespace hvsim::test
