// SPDX-License-Identifier: Apache-2.0
// Files that are whole or absent.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

namespace hvsim::report {

/// Writes `content` beside `path` under a temporary name and renames it, so that a reader sees
/// the old file or the new one. Creates missing directories. What is there and no regular file (a
/// device, a pipe) is written into and never replaced. Throws output_error with the file and the
/// reason. Different threads may write different files at the same time.
void write_file(const std::filesystem::path& path, std::string_view content);

/// Throws output_error if a later `write_file(path, ...)` is bound to fail: an empty path, a
/// directory, a folder that takes no file. Changes nothing. What only writing can tell (a
/// full disk) still fails later.
void require_writable(const std::filesystem::path& path);
/// The same for files to be written into `folder`, which need not exist.
void require_writable_folder(const std::filesystem::path& folder);

/// Removes the temporary files of every atomic_file that exists now. For a signal handler that ends
/// the program: calls only what is safe there.
void remove_unfinished_files();

class unfinished_file;

/// A file that is written piece by piece under a temporary name and appears under its own with
/// `commit`. Without it nothing stays. A device or pipe gets its content at `commit`. One thread.
/// Everything but the destructor throws output_error.
class atomic_file {
 public:
  /// Creates missing directories.
  explicit atomic_file(std::filesystem::path path);
  ~atomic_file();
  atomic_file(const atomic_file&) = delete;
  atomic_file& operator=(const atomic_file&) = delete;

  void append(std::string_view text);
  /// Replaces what was appended from byte `offset` on.
  void overwrite(std::uint64_t offset, std::string_view text);
  void commit();

 private:
  [[noreturn]] void fail(const std::error_code& why);
  /// Whether `path_` names something that a rename would destroy.
  [[nodiscard]] bool must_stay() const;
  void copy_into_place();

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  std::fstream out_;
  unfinished_file* unfinished_ = nullptr;
  std::ofstream target_;  ///< open if `path_` must stay what it is
  bool done_ = false;
};

}  // namespace hvsim::report
