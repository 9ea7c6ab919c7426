// SPDX-License-Identifier: Apache-2.0
// Watches for translations that are replaced without a break.
#pragma once

#include <vector>

#include "sim/check/page_window.hpp"
#include "sim/engine/observer.hpp"

namespace hvsim::check {

/// Break-before-make (Arm ARM, DDI 0487, "TLB maintenance requirements"): a valid translation may
/// only change its output address or its size by way of an invalid entry and an invalidation that
/// was issued after that and has completed on every core. Permissions may change in place.
///
/// An invalidation of one address reaches the whole leaf or table that covered it.
class break_before_make final : public engine::observer {
 public:
  /// The tables must not map any of the window yet.
  explicit break_before_make(page_window window)
      : window_(std::move(window)), pages_(window_.pages()) {}

  void entry_changed(const engine::thread& t, engine::ipa begin, engine::bytes size) override;
  void invalidation_issued(const engine::thread& t, const engine::invalidation& i) override;
  void invalidation_completed(const engine::thread& t, const engine::invalidation& i) override;

  /// Replacements of a translation that were found in order.
  [[nodiscard]] std::uint64_t replacements() const { return replacements_; }

 private:
  struct history {
    page_view now;
    page_view before;          ///< last valid one, while `now` is not valid
    std::uint64_t broken = 0;  ///< step at which it became invalid
    bool flushed = false;      ///< by an invalidation issued after that
  };
  [[noreturn]] static void fail(const engine::thread& t, engine::ipa at, const page_view& before,
                                const page_view& after, const char* why);

  page_window window_;
  std::vector<history> pages_;
  order_of_steps steps_;
  std::uint64_t replacements_ = 0;
};

}  // namespace hvsim::check
