// SPDX-License-Identifier: Apache-2.0
#include "sim/report/atomic_file.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>

#include "sim/report/errors.hpp"

namespace hvsim::report {
namespace {

namespace fs = std::filesystem;

std::error_code last_error() {
  return {errno != 0 ? errno : EIO, std::generic_category()};
}

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw output_error("cannot write " + path.string() + ": " + why);
}

/// What stands at `path`, behind symbolic links; "not found" if nothing does.
fs::file_status status_of(const fs::path& path) {
  std::error_code ec;
  const fs::file_status status = fs::status(path, ec);
  if (status.type() == fs::file_type::none) refuse(path, ec.message());
  return status;
}

/// Rights alone do not tell: root has all, and still cannot write everywhere.
void require_new_file(const fs::path& blamed, const fs::path& folder) {
  std::string name = (folder / ".hvsim.XXXXXX").string();
  const int file = ::mkstemp(name.data());
  if (file < 0) refuse(blamed, last_error().message());
  ::close(file);
  ::unlink(name.c_str());
}

/// The nearest folder of `folder` and its parents that exists must take new files.
void require_folder(const fs::path& blamed, fs::path folder) {
  for (;;) {
    if (folder.empty()) folder = ".";
    const fs::file_status status = status_of(folder);
    if (fs::exists(status)) {
      if (!fs::is_directory(status)) refuse(blamed, folder.string() + " is not a directory");
      return require_new_file(blamed, folder);
    }
    folder = folder.parent_path();
  }
}

/// /dev/stdout and its like name an open file, whatever kind it is.
bool names_open_file(const fs::path& path) {
  const fs::path plain = path.lexically_normal();
  auto part = plain.begin();
  if (part == plain.end() || *part != "/" || ++part == plain.end()) return false;
  return *part == "dev" || *part == "proc";
}

}  // namespace

/// Temporary files that exist, by name, in memory that a signal handler may read.
class unfinished_file {
 public:
  static constexpr std::size_t most = 16;

  /// Forgets a name that is too long, or one too many: then the file stays after a hard end.
  static unfinished_file* add(const fs::path& name) {
    if (name.native().size() >= longest) return nullptr;
    for (unfinished_file& f : all) {
      if (f.taken_.exchange(true)) continue;
      f.name_[name.native().copy(f.name_.data(), longest - 1)] = '\0';
      f.set_.store(true);
      return &f;
    }
    return nullptr;
  }
  void forget() {
    set_.store(false);
    taken_.store(false);
  }
  static void remove_all() {
    for (const unfinished_file& f : all)
      if (f.set_.load()) ::unlink(f.name_.data());
  }

 private:
  static constexpr std::size_t longest = 4096;
  static std::array<unfinished_file, most> all;
  std::atomic<bool> taken_{false};
  std::atomic<bool> set_{false};
  std::array<char, longest> name_{};
};
constinit std::array<unfinished_file, unfinished_file::most> unfinished_file::all{};

void remove_unfinished_files() {
  unfinished_file::remove_all();
}

void require_writable(const fs::path& path) {
  if (path.empty()) throw output_error("a file's name is empty");
  const fs::file_status status = status_of(path);
  if (fs::is_directory(status)) refuse(path, "it is a directory");
  if (!path.has_filename()) refuse(path, "it names a directory");
  if (fs::exists(status) && ::access(path.c_str(), W_OK) != 0) refuse(path, last_error().message());
  if (!fs::exists(status) || fs::is_regular_file(status)) require_folder(path, path.parent_path());
}

void require_writable_folder(const fs::path& folder) {
  if (folder.empty()) throw output_error("a folder's name is empty");
  require_folder(folder, folder);
}

atomic_file::atomic_file(fs::path path) : path_(std::move(path)) {
  require_writable(path_);
  std::error_code ec;
  if (must_stay()) {
    errno = 0;
    target_.open(path_, std::ios::binary);
    if (!target_) fail(last_error());
    temporary_ = fs::temp_directory_path(ec) / "hvsim";
  } else {
    // The file behind a symbolic link is replaced, and not the link.
    if (std::error_code absent; fs::is_symlink(path_, absent))
      path_ = fs::weakly_canonical(path_, ec);
    if (ec) fail(ec);
    if (path_.has_parent_path()) fs::create_directories(path_.parent_path(), ec);
    if (ec) fail(ec);
    temporary_ = path_;
  }
  static std::atomic<unsigned> number{0};
  temporary_ += ".tmp" + std::to_string(::getpid()) + "." + std::to_string(number++);
  unfinished_ = unfinished_file::add(temporary_);
  errno = 0;
  out_.open(temporary_, std::ios::binary | std::ios::in | std::ios::out | std::ios::trunc);
  if (out_) return;
  const std::error_code why = last_error();
  if (unfinished_ != nullptr) unfinished_->forget();
  fail(why);
}

atomic_file::~atomic_file() {
  if (!done_) {
    out_.close();
    std::error_code ec;
    fs::remove(temporary_, ec);
  }
  if (unfinished_ != nullptr) unfinished_->forget();
}

bool atomic_file::must_stay() const {
  const fs::file_status status = status_of(path_);
  return fs::exists(status) && (!fs::is_regular_file(status) || names_open_file(path_));
}

void atomic_file::fail(const std::error_code& why) {
  refuse(path_, why.message());
}

void atomic_file::append(std::string_view text) {
  errno = 0;
  out_.write(text.data(), static_cast<std::streamsize>(text.size()));
  if (!out_) fail(last_error());
}

void atomic_file::overwrite(std::uint64_t offset, std::string_view text) {
  errno = 0;
  const std::fstream::pos_type end = out_.tellp();
  out_.seekp(static_cast<std::streamoff>(offset));
  out_.write(text.data(), static_cast<std::streamsize>(text.size()));
  out_.seekp(end);
  if (!out_) fail(last_error());
}

void atomic_file::copy_into_place() {
  out_.seekg(0);
  // An empty file has nothing to copy, which operator<< would call a failure.
  if (out_.peek() != std::fstream::traits_type::eof()) target_ << out_.rdbuf();
  target_.close();
  if (!target_) fail(last_error());
  out_.close();
  std::error_code ec;
  fs::remove(temporary_, ec);
}

void atomic_file::commit() {
  errno = 0;
  out_.flush();
  if (!out_) fail(last_error());
  if (target_.is_open()) {
    copy_into_place();
  } else {
    out_.close();
    if (!out_) fail(last_error());
    std::error_code ec;
    fs::rename(temporary_, path_, ec);
    if (ec) fail(ec);
  }
  done_ = true;
}

void write_file(const fs::path& path, std::string_view content) {
  atomic_file file(path);
  file.append(content);
  file.commit();
}

}  // namespace hvsim::report
