// SPDX-License-Identifier: Apache-2.0
#include "sim/check/lock_order.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/check/violation.hpp"

namespace hvsim::check {

void lock_order::lock_taken(const engine::thread& t, const void*, const char* name, bool) {
  std::vector<std::string>& held = held_[t.id()];
  for (const std::string& h : held) {
    if (!edges_[h].try_emplace(name, fmt::format("{} at {} ps", t.name(), t.now().ps())).second)
      continue;
    std::string way;
    if (h == name || reaches(name, h, way))
      throw violation(fmt::format("lock order: {} at {} ps takes {} while it holds {}{}", t.name(),
                                  t.now().ps(), name, h, way));
  }
  held.emplace_back(name);
}

void lock_order::lock_dropped(const engine::thread& t, const void*, const char* name, bool) {
  std::vector<std::string>& held = held_[t.id()];
  const auto it = std::find(held.rbegin(), held.rend(), name);
  if (it != held.rend()) held.erase(std::next(it).base());
}

bool lock_order::reaches(const std::string& from, const std::string& to, std::string& way) const {
  const auto out = edges_.find(from);
  if (out == edges_.end()) return false;
  // The graph was free of cycles until now, so this ends.
  for (const auto& [next, first] : out->second) {
    const std::size_t length = way.size();
    way += fmt::format("; {} took {} while it held {}", first, next, from);
    if (next == to || reaches(next, to, way)) return true;
    way.resize(length);
  }
  return false;
}

std::vector<std::pair<std::string, std::string>> lock_order::edges() const {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& [from, tos] : edges_)
    for (const auto& [to, first] : tos) out.emplace_back(from, to);
  return out;
}

}  // namespace hvsim::check
