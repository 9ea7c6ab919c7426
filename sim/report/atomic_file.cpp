// SPDX-License-Identifier: Apache-2.0
#include "sim/report/atomic_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "sim/report/errors.hpp"

namespace hvsim::report {
namespace {

std::error_code last_error() {
  return {errno != 0 ? errno : EIO, std::generic_category()};
}

}  // namespace

atomic_file::atomic_file(std::filesystem::path path) : path_(std::move(path)), temporary_(path_) {
  std::error_code ec;
  if (path_.has_parent_path()) {
    std::filesystem::create_directories(path_.parent_path(), ec);
    if (ec) fail(ec);
  }
  temporary_ += ".tmp" + std::to_string(::getpid());
  errno = 0;
  out_.open(temporary_, std::ios::binary | std::ios::trunc);
  if (!out_) fail(last_error());
}

atomic_file::~atomic_file() {
  if (done_) return;
  out_.close();
  std::error_code ec;
  std::filesystem::remove(temporary_, ec);
}

void atomic_file::fail(const std::error_code& why) {
  throw output_error("cannot write " + path_.string() + ": " + why.message());
}

void atomic_file::append(std::string_view text) {
  errno = 0;
  out_.write(text.data(), static_cast<std::streamsize>(text.size()));
  if (!out_) fail(last_error());
}

void atomic_file::overwrite(std::uint64_t offset, std::string_view text) {
  errno = 0;
  const auto end = out_.tellp();
  out_.seekp(static_cast<std::streamoff>(offset));
  out_.write(text.data(), static_cast<std::streamsize>(text.size()));
  out_.seekp(end);
  if (!out_) fail(last_error());
}

void atomic_file::commit() {
  errno = 0;
  out_.close();
  if (!out_) fail(last_error());
  std::error_code ec;
  std::filesystem::rename(temporary_, path_, ec);
  if (ec) fail(ec);
  done_ = true;
}

void write_file(const std::filesystem::path& path, std::string_view content) {
  atomic_file file(path);
  file.append(content);
  file.commit();
}

}  // namespace hvsim::report
