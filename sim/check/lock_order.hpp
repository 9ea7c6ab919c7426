// SPDX-License-Identifier: Apache-2.0
// Watches the order in which locks are taken.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/engine/engine.hpp"

namespace hvsim::check {

/// Locks of one name are one node, as one lockdep class is. Taking B while holding A makes an edge
/// from A to B; a cycle is a deadlock that some order of steps would reach, even if this run did
/// not. Taking a lock of a name that one holds already is a cycle too.
class lock_order final : public engine::observer {
 public:
  void lock_taken(const engine::thread& t, const void* lock, const char* name,
                  bool exclusive) override;
  void lock_dropped(const engine::thread& t, const void* lock, const char* name,
                    bool exclusive) override;

  /// Pairs (held, taken) seen, ascending.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> edges() const;

 private:
  [[nodiscard]] bool reaches(const std::string& from, const std::string& to,
                             std::string& way) const;

  std::map<std::uint32_t, std::vector<std::string>> held_;           // by thread id
  std::map<std::string, std::map<std::string, std::string>> edges_;  // from, to, who was first
};

}  // namespace hvsim::check
