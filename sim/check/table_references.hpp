// SPDX-License-Identifier: Apache-2.0
// Watches the reference counts of table pages.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "sim/check/violation.hpp"
#include "sim/engine/engine.hpp"

namespace hvsim::check {

/// A table page holds one reference of its own and one for each entry that maps something. In the
/// middle of an operation the count may be off by one; when the last holder drops mmu_lock, all
/// must add up.
class table_references final : public engine::observer {
 public:
  /// `verify` counts the whole tree and says what is wrong with it, or nothing. `lock`: the name of
  /// the lock that every change of the tree is made under.
  explicit table_references(std::function<std::string()> verify, const char* lock = "mmu_lock")
      : verify_(std::move(verify)), lock_(lock) {}

  void lock_taken(const engine::thread&, const void*, const char* name, bool) override {
    if (lock_ == name) ++holders_;
  }
  void lock_dropped(const engine::thread& t, const void*, const char* name, bool) override {
    if (lock_ != name || --holders_ != 0) return;
    ++counted_;
    if (const std::string wrong = verify_(); !wrong.empty())
      throw violation("table references: " + wrong + " when " + t.name() + " drops " + lock_ +
                      " at " + std::to_string(t.now().ps()) + " ps");
  }

  /// How often the tree was counted.
  [[nodiscard]] std::uint64_t counted() const { return counted_; }

 private:
  std::function<std::string()> verify_;
  std::string lock_;
  std::uint64_t holders_ = 0;
  std::uint64_t counted_ = 0;
};

}  // namespace hvsim::check
