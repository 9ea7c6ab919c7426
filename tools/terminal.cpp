// SPDX-License-Identifier: Apache-2.0
#include "tools/terminal.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace hvsim::tools {
namespace {

std::string clock_text(double seconds) {
  auto whole = static_cast<long>(std::min(seconds, 359999.0));
  if (whole >= 3600)
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

bool decide(when w) {
  if (w == when::automatic) return isatty(STDERR_FILENO) != 0;
  return w == when::always;
}

}  // namespace

bool context::show_progress() const {
  return !quiet && decide(progress);
}

bool context::use_color() const {
  const char* no_color = std::getenv("NO_COLOR");
  if (color == when::automatic && no_color != nullptr && *no_color != '\0') return false;
  return decide(color);
}

progress_line::progress_line(const context& ctx, std::string label)
    : shown_(ctx.show_progress()), label_(std::move(label)) {}

progress_line::~progress_line() {
  clear();
}

void progress_line::clear() {
  if (std::exchange(written_, false)) std::fputs("\r\x1b[K", stderr);
}

void progress_line::restart(std::string label) {
  label_ = std::move(label);
  start_ = clock::now();
  last_ = {};
}

void progress_line::update(double fraction) {
  using namespace std::chrono_literals;
  if (!shown_) return;
  auto now = clock::now();
  if (written_ && now - last_ < 100ms) return;
  last_ = now;
  written_ = true;
  fraction = std::clamp(fraction, 0.0, 1.0);
  double gone = std::chrono::duration<double>(now - start_).count();
  // The first moments say little about the rest.
  std::string left = fraction > 0.01 ? clock_text(gone * (1 - fraction) / fraction) : "-:--";
  constexpr int width = 24;
  int filled = static_cast<int>(fraction * width);
  std::string bar = std::string(static_cast<std::size_t>(filled), '#') +
                    std::string(static_cast<std::size_t>(width - filled), '.');
  std::fputs(fmt::format("\r{} [{}] {:3.0f}% {} ETA {}\x1b[K", label_, bar, fraction * 100,
                         clock_text(gone), left)
                 .c_str(),
             stderr);
  std::fflush(stderr);
}

}  // namespace hvsim::tools
