// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/input.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "tests/scratch.hpp"

using namespace hvsim;
using Catch::Matchers::Equals;

namespace {

/// A FIFO with a thread that writes `content` into it once.
class fed_fifo {
 public:
  fed_fifo(std::string path, std::string content) : path_(std::move(path)) {
    REQUIRE(::mkfifo(path_.c_str(), 0600) == 0);
    writer_ = std::jthread([this, content = std::move(content)] {
      std::ofstream(path_, std::ios::binary) << content;
    });
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::jthread writer_;
};

std::string text_at(const scenario::input_file& f, std::uint64_t offset, std::size_t n) {
  std::string out(n, '\0');
  out.resize(f.read(offset, out));
  return out;
}

}  // namespace

TEST_CASE("a stream gives every reader all that its writer wrote", "[scenario]") {
  const test::scratch dir;
  // More than the 64 KiB that a pipe holds.
  std::string content;
  for (int i = 0; i < 40'000; ++i) content += std::to_string(i) + "\n";
  const fed_fifo fifo(dir.at("texts"), content);
  CHECK(scenario::read_bytes(fifo.path(), content.size() + 1) == content);
  CHECK(scenario::read_bytes(fifo.path(), content.size() + 1) == content);

  const fed_fifo other(dir.at("files"), content);
  const scenario::input_file file(other.path());
  CHECK(text_at(file, 0, content.size() + 10) == content);
  CHECK(text_at(file, 100'000, 50) == content.substr(100'000, 50));
  CHECK(text_at(scenario::input_file(other.path()), 3, 5) == content.substr(3, 5));
}

TEST_CASE("at most so many bytes are read", "[scenario]") {
  const test::scratch dir;
  CHECK(scenario::read_bytes(dir.file("f", "12345"), 3) == "123");
  const fed_fifo fifo(dir.at("fifo"), "12345");
  CHECK(scenario::read_bytes(fifo.path(), 3) == "123");
  CHECK(text_at(scenario::input_file(dir.at("f")), 2, 10) == "345");
  CHECK(text_at(scenario::input_file(dir.at("f")), 9, 10).empty());
}

TEST_CASE("what cannot be read says why", "[scenario]") {
  const test::scratch dir;
  CHECK_THROWS_WITH(scenario::read_bytes(dir.at("none"), 1), Equals("no such file"));
  CHECK_THROWS_WITH(scenario::read_bytes(dir.at("none/below"), 1), Equals("no such file"));
  CHECK_THROWS_WITH(scenario::input_file(dir.path().string()),
                    Equals("is a directory; expected a file"));
  CHECK_THROWS_WITH(scenario::input_file("/dev/zero"),
                    Equals("is a device; expected a file or a pipe"));
}

TEST_CASE("a wait for a stream ends on request", "[scenario]") {
  const test::scratch dir;
  REQUIRE(::mkfifo(dir.at("fifo").c_str(), 0600) == 0);
  std::atomic<bool> stop = true;
  scenario::end_waits_on(&stop);
  CHECK_THROWS_AS(scenario::read_bytes(dir.at("fifo"), 1), scenario::unreadable);
  CHECK_THROWS_AS(scenario::input_file(dir.at("fifo")), scenario::unreadable);
  scenario::end_waits_on(nullptr);
}
