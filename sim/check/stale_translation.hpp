// SPDX-License-Identifier: Apache-2.0
// Watches for translations that outlive their invalidation.
#pragma once

#include <vector>

#include "sim/check/page_window.hpp"
#include "sim/engine/observer.hpp"

namespace hvsim::check {

/// A guest access may use what the tables say, or what they said before a change whose invalidation
/// has not completed yet. After that, the old translation is gone for everybody: the kernel will
/// give the page away, or counts on seeing the next write.
///
/// An invalidation that stays on one core counts as well: whoever issues it says that nobody else
/// can have the translation.
class stale_translation final : public engine::observer {
 public:
  /// The tables must not map any of the window yet.
  explicit stale_translation(page_window window)
      : window_(std::move(window)), pages_(window_.pages(), {view{}}) {}

  void entry_changed(const engine::thread& t, engine::ipa begin, engine::bytes size) override;
  void invalidation_issued(const engine::thread& t, const engine::invalidation& i) override;
  void invalidation_completed(const engine::thread& t, const engine::invalidation& i) override;
  void translated(const engine::thread& t, const engine::translation_use& u) override;

  /// Accesses that used a translation which the tables did not hold any more, but were allowed to.
  [[nodiscard]] std::uint64_t late_uses() const { return late_uses_; }

 private:
  struct view {
    page_view page;
    std::uint64_t gone = 0;  ///< step at which another one took its place; 0: it is there
  };
  static bool allows(const page_view& p, const engine::translation_use& u);

  page_window window_;
  std::vector<std::vector<view>> pages_;  // what may be used, the tables' own last
  order_of_steps steps_;
  std::uint64_t late_uses_ = 0;
};

}  // namespace hvsim::check
