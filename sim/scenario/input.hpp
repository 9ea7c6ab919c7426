// SPDX-License-Identifier: Apache-2.0
// Bytes of what a user names: regular files, and streams (pipes, FIFOs) as if they were files.
//
// A stream gives its bytes once. The first reader takes all of them, and they are kept for whoever
// names the same stream again as long as the process lives. Call from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

namespace hvsim::scenario {

/// Something cannot be read. what() is the reason without the path.
class unreadable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// While a stream has nothing to give, `stop` is looked at now and then; once true, the wait ends
/// with `unreadable`. Null, as at first: waits do not end. For the whole process.
void end_waits_on(const std::atomic<bool>* stop);

/// The bytes of `path`, at most `most` of them. Throws unreadable: missing, a directory, a device,
/// rights.
std::string read_bytes(const std::string& path, std::size_t most);

/// The bytes of standard input, whatever it is, at most `most` of them.
std::string read_standard_input(std::size_t most);

/// Bytes that can be read from any place as often as wanted.
class input_file {
 public:
  /// Opens a regular file. A stream is first copied to its end into a file without a name in the
  /// folder for temporary files. Throws unreadable.
  explicit input_file(const std::string& path);

  /// Reads into `into` from byte `offset` on and returns how many bytes that gave: fewer only at
  /// the end. Throws unreadable.
  [[nodiscard]] std::size_t read(std::uint64_t offset, std::span<char> into) const;

 private:
  std::shared_ptr<const int> file_;
};

}  // namespace hvsim::scenario
