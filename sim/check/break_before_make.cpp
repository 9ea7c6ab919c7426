// SPDX-License-Identifier: Apache-2.0
#include "sim/check/break_before_make.hpp"

#include <fmt/format.h>

#include "sim/check/violation.hpp"

namespace hvsim::check {

namespace {
bool needs_break(const page_view& a, const page_view& b) {
  return a.to != b.to || a.leaf_size != b.leaf_size;
}
}  // namespace

void break_before_make::fail(const engine::thread& t, engine::ipa at, const page_view& before,
                             const page_view& after, const char* why) {
  throw violation(fmt::format(
      "break-before-make: {} at {} ps replaces the translation of 0x{:x} (0x{:x} in {} bytes) by "
      "0x{:x} in {} bytes {}",
      t.name(), t.now().ps(), at.value(), before.to.value(), before.leaf_size.value(),
      after.to.value(), after.leaf_size.value(), why));
}

void break_before_make::entry_changed(const engine::thread& t, engine::ipa begin,
                                      engine::bytes size) {
  const std::uint64_t step = steps_.next();
  window_.each(begin, size, [&](std::uint64_t p) {
    history& h = pages_[p];
    const page_view now = window_.look(p);
    if (now.valid && h.now.valid && needs_break(h.now, now))
      fail(t, window_.address(p), h.now, now, "without a break");
    if (!now.valid && h.now.valid) {
      h.before = h.now;
      h.broken = step;
      h.flushed = false;
    }
    if (now.valid && !h.now.valid && h.before.valid && needs_break(h.before, now)) {
      if (!h.flushed)
        fail(t, window_.address(p), h.before, now, "before a TLBI has completed on every core");
      ++replacements_;
    }
    h.now = now;
  });
}

void break_before_make::invalidation_issued(const engine::thread& t, const engine::invalidation&) {
  steps_.issued(t);
}

void break_before_make::invalidation_completed(const engine::thread& t,
                                               const engine::invalidation& i) {
  if (!i.broadcast) return;
  const std::uint64_t issued = steps_.issued_by(t);
  const auto flush = [&](std::uint64_t p) {
    history& h = pages_[p];
    if (!h.now.valid && h.broken < issued) h.flushed = true;
  };
  if (i.all) {
    for (std::uint64_t p = 0; p < pages_.size(); ++p) flush(p);
    return;
  }
  engine::ipa begin = i.begin;
  engine::bytes size = i.size;
  if (window_.contains(i.begin)) {
    // One address reaches all of the leaf that covered it.
    const history& h = pages_[window_.page_of(i.begin)];
    const page_view& covering = h.now.valid ? h.now : h.before;
    if (covering.valid && covering.leaf_size > size) {
      begin = engine::ipa{begin.value() & ~(covering.leaf_size.value() - 1)};
      size = covering.leaf_size;
    }
  }
  window_.each(begin, size, flush);
}

}  // namespace hvsim::check
