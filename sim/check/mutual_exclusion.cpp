// SPDX-License-Identifier: Apache-2.0
#include "sim/check/mutual_exclusion.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/check/violation.hpp"

namespace hvsim::check {

namespace {
const char* side(bool exclusive) {
  return exclusive ? "exclusively" : "shared";
}
}  // namespace

void mutual_exclusion::lock_taken(const engine::thread& t, const void* lock, const char* name,
                                  bool exclusive) {
  ++taken_;
  record& r = locks_[lock];
  for (const holder& h : r.holders)
    if (exclusive || h.exclusive)
      throw violation(fmt::format("mutual exclusion: {} takes {} {} at {} ps, which {} holds {}",
                                  t.name(), name, side(exclusive), t.now().ps(), h.who->name(),
                                  side(h.exclusive)));
  const last_drop& before = exclusive ? r.any : r.exclusive;
  if (!t.owner().exploring() && before.who != nullptr && t.now() < before.at)
    throw violation(fmt::format(
        "mutual exclusion: {} takes {} {} at {} ps, before {} drops it at {} ps", t.name(), name,
        side(exclusive), t.now().ps(), before.who->name(), before.at.ps()));
  r.holders.push_back({&t, exclusive});
}

void mutual_exclusion::lock_dropped(const engine::thread& t, const void* lock, const char* name,
                                    bool exclusive) {
  record& r = locks_[lock];
  const auto it = std::find_if(r.holders.begin(), r.holders.end(), [&](const holder& h) {
    return h.who == &t && h.exclusive == exclusive;
  });
  if (it == r.holders.end())
    throw violation(fmt::format("mutual exclusion: {} drops {} at {} ps without holding it {}",
                                t.name(), name, t.now().ps(), side(exclusive)));
  r.holders.erase(it);
  if (r.any.who == nullptr || t.now() >= r.any.at) r.any = {t.now(), &t};
  if (exclusive) r.exclusive = {t.now(), &t};
}

}  // namespace hvsim::check
