// SPDX-License-Identifier: Apache-2.0
// Watches a dirty log for lost pages.
#pragma once

#include <cstdint>
#include <vector>

namespace hvsim::check {

/// Live migration is right if every page that the guest writes after it was copied is copied again.
/// A page is copied once the log has reported it and its protection is back: after GET, or with
/// manual protection after CLEAR. A page that is written later must be reported later; after the
/// last report, made while the guest stands still, nothing may be owed.
///
/// Used by the fibers of one engine.
class dirty_ledger {
 public:
  explicit dirty_ledger(std::uint64_t pages) : owed_(pages, false) {}

  /// The guest has just executed a write to `page`.
  void wrote(std::uint64_t page) { owed_[page] = true; }

  /// GET (or CLEAR) has just returned; `is_set(page)` is the bitmap that GET gave. Writes until now
  /// to pages in it count as copied.
  template <class F>
  void reported(F is_set) {
    for (std::uint64_t p = 0; p < owed_.size(); ++p)
      if (is_set(p)) owed_[p] = false;
  }

  /// Pages that were written and not reported since, ascending.
  [[nodiscard]] std::vector<std::uint64_t> owed() const {
    std::vector<std::uint64_t> out;
    for (std::uint64_t p = 0; p < owed_.size(); ++p)
      if (owed_[p]) out.push_back(p);
    return out;
  }

 private:
  std::vector<bool> owed_;
};

}  // namespace hvsim::check
