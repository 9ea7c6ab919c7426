// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/input.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace hvsim::scenario {
namespace {

using descriptor = std::shared_ptr<const int>;
using identity = std::pair<dev_t, ino_t>;  // of a stream

std::atomic<const std::atomic<bool>*> stop_flag{nullptr};

std::string reason() {
  return std::generic_category().message(errno);
}

[[noreturn]] void fail() {
  throw unreadable("cannot read: " + reason());
}

descriptor own(int file) {
  return {new int(file), [](const int* f) {
            ::close(*f);
            delete f;
          }};
}

struct stat kind_of(int file) {
  struct stat s {};
  if (::fstat(file, &s) != 0) fail();
  return s;
}

/// Opens what `path` names if it is a file or a stream.
descriptor open_input(const std::string& path) {
  struct stat s {};
  if (::stat(path.c_str(), &s) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) throw unreadable("no such file");
    fail();
  }
  if (S_ISDIR(s.st_mode)) throw unreadable("is a directory; expected a file");
  if (S_ISCHR(s.st_mode) || S_ISBLK(s.st_mode))
    throw unreadable("is a device; expected a file or a pipe");
  // Without O_NONBLOCK opening a FIFO would wait for its writer, and nothing could end that.
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) fail();
  return own(file);
}

/// Returns when `file` has bytes or has ended.
void wait_for(int file) {
  constexpr int between_looks_ms = 100;
  pollfd p{file, POLLIN, 0};
  for (;;) {
    const std::atomic<bool>* const stop = stop_flag.load();
    if (stop != nullptr && stop->load()) throw unreadable("interrupted before its end");
    const int ready = ::poll(&p, 1, between_looks_ms);
    if (ready > 0) return;
    if (ready < 0 && errno != EINTR) fail();
  }
}

/// Gives the bytes of `file` piece by piece to `take` until the end, or until `take` returns false.
template <class Take>
void drain(int file, Take&& take) {
  std::array<char, 65536> buffer{};
  for (;;) {
    wait_for(file);
    const ssize_t n = ::read(file, buffer.data(), buffer.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) fail();
    if (n == 0 || !take(std::string_view(buffer.data(), static_cast<std::size_t>(n)))) return;
  }
}

std::string drained(int file, std::size_t most) {
  std::string text;
  drain(file, [&](std::string_view piece) {
    text.append(piece.substr(0, most - text.size()));
    return text.size() < most;
  });
  return text;
}

/// A file without a name that goes away with its last descriptor.
descriptor nameless_file() {
  std::error_code ec;
  std::string name = (std::filesystem::temp_directory_path(ec) / "hvsim.XXXXXX").string();
  const int file = ::mkostemp(name.data(), O_CLOEXEC);
  if (file < 0) throw unreadable("no temporary file for its content: " + reason());
  ::unlink(name.c_str());
  return own(file);
}

void append(int file, std::string_view piece) {
  while (!piece.empty()) {
    const ssize_t n = ::write(file, piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw unreadable("no room to keep its content: " + reason());
    piece.remove_prefix(static_cast<std::size_t>(n));
  }
}

/// What streams gave. A stream stays open, so that no other one can get its identity.
struct kept_text {
  descriptor stream;
  std::string text;
};
struct kept_file {
  descriptor stream;
  descriptor copy;
};
struct kept_streams {
  std::mutex mutex;
  std::map<identity, kept_text> texts;
  std::map<identity, kept_file> files;
};
kept_streams& kept() {
  static kept_streams all;
  return all;
}

std::string read_from(const descriptor& file, std::size_t most) {
  const struct stat s = kind_of(*file);
  if (!S_ISFIFO(s.st_mode)) return drained(*file, most);
  kept_streams& all = kept();
  const std::lock_guard lock(all.mutex);
  const identity id{s.st_dev, s.st_ino};
  auto at = all.texts.find(id);
  if (at == all.texts.end())
    at = all.texts.emplace(id, kept_text{file, drained(*file, most)}).first;
  return at->second.text;
}

}  // namespace

void end_waits_on(const std::atomic<bool>* stop) {
  stop_flag = stop;
}

std::string read_bytes(const std::string& path, std::size_t most) {
  return read_from(open_input(path), most);
}

std::string read_standard_input(std::size_t most) {
  // What is no FIFO (a terminal, a socket) can be read once all the same.
  static std::mutex mutex;
  static std::optional<std::string> text;
  const std::lock_guard lock(mutex);
  static const int standard_input = STDIN_FILENO;
  const int mode = ::fcntl(standard_input, F_GETFL);
  if (mode < 0 || (mode & O_ACCMODE) == O_WRONLY) throw unreadable("it is closed");
  if (!text) text = read_from({std::shared_ptr<const int>(), &standard_input}, most);
  return *text;
}

input_file::input_file(const std::string& path) : file_(open_input(path)) {
  const struct stat s = kind_of(*file_);
  if (S_ISREG(s.st_mode)) return;
  kept_streams& all = kept();
  const std::lock_guard lock(all.mutex);
  const identity id{s.st_dev, s.st_ino};
  auto at = all.files.find(id);
  if (at == all.files.end()) {
    const descriptor copy = nameless_file();
    drain(*file_, [&](std::string_view piece) {
      append(*copy, piece);
      return true;
    });
    at = all.files.emplace(id, kept_file{file_, copy}).first;
  }
  file_ = at->second.copy;
}

std::size_t input_file::read(std::uint64_t offset, std::span<char> into) const {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t n =
        ::pread(*file_, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail();
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

}  // namespace hvsim::scenario
