// SPDX-License-Identifier: Apache-2.0
// The pages that translation checkers watch, and what the tables say about them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <unordered_map>

#include "sim/engine/engine.hpp"
#include "sim/engine/observer.hpp"

namespace hvsim::check {

/// What stage 2 says about one 4 KiB page.
struct page_view {
  bool valid = false;
  engine::pa to{};            ///< output address of the page
  engine::bytes leaf_size{};  ///< of the leaf that covers it
  bool readable = false;
  bool writable = false;
  friend bool operator==(const page_view&, const page_view&) = default;
};

/// Walks the tables as they are now, without time or side effects.
using table_reader = std::function<page_view(engine::ipa)>;

/// [begin, begin + size) in pages of 4 KiB; both aligned to pages. An invalidation's reach and a
/// table entry's span become ranges of page numbers.
class page_window {
 public:
  static constexpr unsigned page_shift = 12;

  page_window(engine::ipa begin, engine::bytes size, table_reader read)
      : first_(begin.value() >> page_shift),
        pages_(size.value() >> page_shift),
        read_(std::move(read)) {}

  [[nodiscard]] std::uint64_t pages() const { return pages_; }
  [[nodiscard]] engine::ipa address(std::uint64_t page) const {
    return engine::ipa{(first_ + page) << page_shift};
  }
  [[nodiscard]] page_view look(std::uint64_t page) const { return read_(address(page)); }
  /// Whether `at` is watched.
  [[nodiscard]] bool contains(engine::ipa at) const { return page_of(at) < pages_; }
  /// Number of the page of a watched address.
  [[nodiscard]] std::uint64_t page_of(engine::ipa at) const {
    return (at.value() >> page_shift) - first_;
  }

  /// Calls f(page) for each watched page that [begin, begin + size) touches.
  template <class F>
  void each(engine::ipa begin, engine::bytes size, F&& f) const {
    const std::uint64_t from = std::max(begin.value() >> page_shift, first_);
    const std::uint64_t last = (begin.value() + size.value() - 1) >> page_shift;
    for (std::uint64_t p = from; p <= last && p < first_ + pages_; ++p) f(p - first_);
  }

 private:
  std::uint64_t first_;
  std::uint64_t pages_;
  table_reader read_;
};

/// Numbers changes and invalidations in the order in which they happen.
class order_of_steps {
 public:
  std::uint64_t next() { return ++last_; }
  /// `t` issues an invalidation.
  void issued(const engine::thread& t) { issued_[t.id()] = next(); }
  /// When the invalidation that `t` completes was issued.
  [[nodiscard]] std::uint64_t issued_by(const engine::thread& t) const {
    return issued_.at(t.id());
  }

 private:
  std::uint64_t last_ = 0;
  std::unordered_map<std::uint32_t, std::uint64_t> issued_;
};

}  // namespace hvsim::check
