// SPDX-License-Identifier: Apache-2.0
// The progress line on stderr.
#pragma once

#include <chrono>
#include <string>

#include "tools/commands.hpp"

namespace hvsim::tools {

/// One line that overwrites itself: share done, time gone and time left. Writes nothing if the
/// context says so. Not thread-safe; the line is removed by the destructor.
class progress_line {
 public:
  progress_line(const context& ctx, std::string label);
  ~progress_line();
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;
  /// Shows the share (0..1); at most ten times a second.
  void update(double fraction);
  /// Removes the line until the next update.
  void clear();
  /// Starts anew, for work of another kind.
  void restart(std::string label);

 private:
  using clock = std::chrono::steady_clock;
  bool shown_;
  bool written_ = false;
  std::string label_;
  clock::time_point start_ = clock::now();
  clock::time_point last_{};
};

}  // namespace hvsim::tools
