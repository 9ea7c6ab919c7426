// SPDX-License-Identifier: Apache-2.0
#include "sim/report/atomic_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>
#include <system_error>

#include "sim/report/errors.hpp"

namespace hvsim::report {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const std::error_code& why) {
  throw output_error("cannot write " + path.string() + ": " + why.message());
}

std::error_code last_error() {
  return {errno != 0 ? errno : EIO, std::generic_category()};
}

}  // namespace

void write_file(const std::filesystem::path& path, std::string_view content) {
  std::error_code ec;
  if (path.has_parent_path()) {
    std::filesystem::create_directories(path.parent_path(), ec);
    if (ec) fail(path, ec);
  }
  std::filesystem::path temporary = path;
  temporary += ".tmp" + std::to_string(::getpid());
  {
    errno = 0;
    std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
    if (!out) fail(path, last_error());
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
    out.close();
    if (!out) {
      const std::error_code why = last_error();
      std::filesystem::remove(temporary, ec);
      fail(path, why);
    }
  }
  std::filesystem::rename(temporary, path, ec);
  if (ec) {
    const std::error_code why = ec;
    std::filesystem::remove(temporary, ec);
    fail(path, why);
  }
}

}  // namespace hvsim::report
