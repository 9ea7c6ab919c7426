// SPDX-License-Identifier: Apache-2.0
#include "sim/check/stale_translation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/check/violation.hpp"

namespace hvsim::check {

bool stale_translation::allows(const page_view& p, const engine::translation_use& u) {
  const std::uint64_t page = u.to.value() >> page_window::page_shift;
  return p.valid && p.to.value() >> page_window::page_shift == page &&
         (u.write ? p.writable : p.readable);
}

void stale_translation::entry_changed(const engine::thread&, engine::ipa begin,
                                      engine::bytes size) {
  const std::uint64_t step = steps_.next();
  window_.each(begin, size, [&](std::uint64_t p) {
    const page_view now = window_.look(p);
    auto& views = pages_[p];
    if (views.back().page == now) return;
    views.back().gone = step;
    views.push_back({now, 0});
  });
}

void stale_translation::invalidation_issued(const engine::thread& t, const engine::invalidation&) {
  steps_.issued(t);
}

void stale_translation::invalidation_completed(const engine::thread& t,
                                               const engine::invalidation& i) {
  const std::uint64_t issued = steps_.issued_by(t);
  const auto drop = [&](std::uint64_t p) {
    std::erase_if(pages_[p], [&](const view& v) { return v.gone != 0 && v.gone < issued; });
  };
  if (i.all) {
    for (std::uint64_t p = 0; p < pages_.size(); ++p) drop(p);
  } else {
    window_.each(i.begin, i.size, drop);
  }
}

void stale_translation::translated(const engine::thread& t, const engine::translation_use& u) {
  if (!window_.contains(u.from)) return;
  const auto& views = pages_[window_.page_of(u.from)];
  if (allows(views.back().page, u)) return;
  if (std::any_of(views.begin(), views.end(), [&](const view& v) { return allows(v.page, u); })) {
    ++late_uses_;
    return;
  }
  throw violation(fmt::format(
      "stale translation: {} at {} ps {} 0x{:x} through {} that says 0x{:x}, after the TLBI for it "
      "has completed; the tables say {}",
      t.name(), t.now().ps(), u.write ? "writes" : "reads", u.from.value(),
      u.cached ? "a TLB entry" : "a walk", u.to.value(),
      !views.back().page.valid
          ? "nothing"
          : fmt::format("0x{:x}, {}", views.back().page.to.value(),
                        views.back().page.writable ? "writable" : "read-only")));
}

}  // namespace hvsim::check
