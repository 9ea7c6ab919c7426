// SPDX-License-Identifier: Apache-2.0
// Tree over the next events of the simulated threads that wait for their turn.
#pragma once

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

/// Keeps one key per thread that waits, finds the smallest in O(1), adds and removes in O(log n)
/// without branches. Not thread-safe; one per engine.
class ready_tree {
 public:
  /// A move on condition: nobody can guess which key is smaller, and compilers must not try.
  [[nodiscard]] static event_key smaller(event_key a, event_key b) {
    return __builtin_expect_with_probability(static_cast<long>(a < b), 1, 0.5) != 0 ? a : b;
  }

  /// Room for `n` threads, none of them waiting.
  explicit ready_tree(std::size_t n = 1) { reset(n); }

  void reset(std::size_t n) {
    size_ = 1;
    depth_ = 0;
    while (size_ < n) {
      size_ *= fan_out;
      ++depth_;
    }
    nodes_.assign(2 * size_, never);
  }

  [[nodiscard]] std::size_t capacity() const { return size_; }

  /// The members below take the number of levels where it is known; any_depth looks it up.
  static constexpr unsigned any_depth = ~0U;
  [[nodiscard]] unsigned depth() const { return depth_; }

  /// Adds a thread that does not wait yet.
  template <unsigned Depth = any_depth>
  [[gnu::always_inline]] void insert(std::size_t id, event_key key) {
    event_key* const nodes = nodes_.data();
    std::size_t i = id + size_of<Depth>();
    nodes[i] = key;
    climb<Depth>([&] {
      i /= fan_out;
      key = smaller(key, nodes[i]);
      nodes[i] = key;
    });
  }

  /// Takes a thread out, if it waits, and returns the smallest key of the others, or `never`.
  template <unsigned Depth = any_depth>
  [[gnu::always_inline]] event_key remove(std::size_t id) {
    return replace<Depth>(id, never);
  }

  /// The same for whoever has `key`; nothing if that is `never`.
  [[gnu::always_inline]] void insert_key(event_key key) {
    if (key != never) insert(key & id_mask, key);
  }
  template <unsigned Depth = any_depth>
  [[gnu::always_inline]] event_key remove_key(event_key key) {
    return key == never ? never : remove<Depth>(key & id_mask);
  }

  /// Gives a thread another key and returns the smallest of all.
  template <unsigned Depth = any_depth>
  [[gnu::always_inline]] event_key replace(std::size_t id, event_key key) {
    event_key* const nodes = nodes_.data();
    std::size_t i = id + size_of<Depth>();
    nodes[i] = key;
    climb<Depth>([&] {
      // Not read back from memory, which would have to wait for the write.
      key = smaller(smaller(key, nodes[i ^ 1]), smaller(nodes[i ^ 2], nodes[i ^ 3]));
      i /= fan_out;
      nodes[i] = key;
    });
    return key;
  }

  /// Key of a thread, or `never`.
  [[nodiscard]] event_key get(std::size_t id) const { return nodes_[id + size_]; }

  /// Smallest key, or `never`.
  [[nodiscard]] event_key top() const { return nodes_[1]; }

 private:
  static constexpr std::size_t fan_out = 4;
  static constexpr event_key id_mask = (event_key{1} << thread_id_bits) - 1;

  template <unsigned Depth>
  [[nodiscard]] std::size_t size_of() const {
    return Depth == any_depth ? size_ : std::size_t{1} << (2 * (Depth % 8));
  }

  /// Calls `up` once a level. Written out: this runs several times a simulated fault.
  template <unsigned Depth, class F>
  [[gnu::always_inline]] void climb(F&& up) const {
    switch (Depth == any_depth ? depth_ : Depth) {
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

  // Node i has its children at fan_out * i and behind; the leaves begin at size_.
  std::size_t size_ = 1;
  unsigned depth_ = 0;  // levels above the leaves; 5 for the most threads
  std::vector<event_key> nodes_;
};

}  // namespace hvsim::engine
