// SPDX-License-Identifier: Apache-2.0
// Winner tree over the next event of each simulated thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace hvsim::engine {

/// Order of events: time in the upper bits, thread id in the lower ten. Two threads never have
/// equal keys, so ties in time break by id and never by insertion order.
using event_key = std::uint64_t;
inline constexpr unsigned thread_id_bits = 10;
inline constexpr event_key never = std::numeric_limits<event_key>::max();

/// Keeps one key per thread and finds the smallest in O(1), updates in O(log n) without branches.
/// Not thread-safe; one per engine.
class ready_tree {
 public:
  /// Room for `n` threads, all with key `never`.
  explicit ready_tree(std::size_t n = 1) { reset(n); }

  void reset(std::size_t n) {
    size_ = 1;
    depth_ = 0;
    while (size_ < n) {
      size_ *= 2;
      ++depth_;
    }
    nodes_.assign(2 * size_, never);
  }

  [[nodiscard]] std::size_t capacity() const { return size_; }

  /// Sets a key and returns the smallest of all.
  [[gnu::always_inline]] event_key set(std::size_t id, event_key key) {
    event_key* const nodes = nodes_.data();
    std::size_t i = id + size_;
    nodes[i] = key;
    climb([&] {
      key = std::min(key, nodes[i ^ 1]);
      i >>= 1;
      nodes[i] = key;
    });
    return key;
  }

  [[nodiscard]] event_key get(std::size_t id) const { return nodes_[id + size_]; }

  /// Smallest key, or `never`.
  [[nodiscard]] event_key top() const { return nodes_[1]; }

  /// Smallest key of all threads but `id`.
  [[nodiscard]] event_key top_without(std::size_t id) const {
    const event_key* const nodes = nodes_.data();
    std::size_t i = id + size_;
    event_key best = never;
    climb([&] {
      best = std::min(best, nodes[i ^ 1]);
      i >>= 1;
    });
    return best;
  }

 private:
  /// Calls `up` once a level. Written out: this runs several times a simulated fault.
  template <class F>
  [[gnu::always_inline]] void climb(F&& up) const {
    switch (depth_) {
      case 10:
        up();
        [[fallthrough]];
      case 9:
        up();
        [[fallthrough]];
      case 8:
        up();
        [[fallthrough]];
      case 7:
        up();
        [[fallthrough]];
      case 6:
        up();
        [[fallthrough]];
      case 5:
        up();
        [[fallthrough]];
      case 4:
        up();
        [[fallthrough]];
      case 3:
        up();
        [[fallthrough]];
      case 2:
        up();
        [[fallthrough]];
      case 1:
        up();
        [[fallthrough]];
      default:
        break;
    }
  }

  std::size_t size_ = 1;
  unsigned depth_ = 0;  // levels above the leaves, at most thread_id_bits
  std::vector<event_key> nodes_;
};

}  // namespace hvsim::engine
