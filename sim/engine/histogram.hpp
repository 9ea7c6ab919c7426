// SPDX-License-Identifier: Apache-2.0
// Histogram of durations with buckets of constant relative width (HDR style).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "sim/engine/units.hpp"

namespace hvsim::engine {

/// Buckets are exact below 2^sub_bits picoseconds and 1/2^sub_bits wide (0.8 %) above; count, sum,
/// minimum and maximum are exact. Recording is a handful of instructions; not thread-safe.
class alignas(64) histogram {
 public:
  static constexpr unsigned sub_bits = 7;

  histogram() : buckets_(bucket_count, 0) {}

  void record(duration d) {
    const std::int64_t ps = d.ps();
    ++buckets_[index_of(static_cast<std::uint64_t>(ps))];
    ++count_;
    sum_ += ps;
    if (ps < min_) [[unlikely]]
      min_ = ps;
    if (ps > max_) [[unlikely]]
      max_ = ps;
  }

  /// Records several durations into one histogram, which must not be used until it is gone. Keeps
  /// what they have in common in the host's registers.
  class recorder {
   public:
    explicit recorder(histogram& h)
        : to_(h), buckets_(h.buckets_.data()), min_(h.min_), max_(h.max_) {}
    recorder(const recorder&) = delete;
    recorder& operator=(const recorder&) = delete;
    ~recorder() {
      to_.count_ += count_;
      to_.sum_ += sum_;
      to_.min_ = min_;
      to_.max_ = max_;
    }
    void record(duration d) {
      const std::int64_t ps = d.ps();
      ++buckets_[index_of(static_cast<std::uint64_t>(ps))];
      ++count_;
      sum_ += ps;
      min_ = std::min(min_, ps);
      max_ = std::max(max_, ps);
    }

   private:
    histogram& to_;
    std::uint64_t* buckets_;
    std::uint64_t count_ = 0;
    std::int64_t sum_ = 0;
    std::int64_t min_, max_;
  };

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] duration sum() const { return duration{sum_}; }
  [[nodiscard]] duration min() const { return duration{count_ == 0 ? 0 : min_}; }
  [[nodiscard]] duration max() const { return duration{max_}; }
  [[nodiscard]] duration mean() const {
    return duration{count_ == 0 ? 0 : sum_ / static_cast<std::int64_t>(count_)};
  }

  /// Upper end of the bucket that holds the value of rank ceil(count * permille / 1000), bounded
  /// by the exact maximum; zero for an empty histogram.
  [[nodiscard]] duration percentile(unsigned permille) const {
    if (count_ == 0) return duration{};
    const std::uint64_t rank = std::max<std::uint64_t>(1, (count_ * permille + 999) / 1000);
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      seen += buckets_[i];
      if (seen >= rank)
        return duration{std::clamp(static_cast<std::int64_t>(upper_end(i)), min_, max_)};
    }
    return max();
  }

  void merge(const histogram& other) {
    for (std::size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
    count_ += other.count_;
    sum_ += other.sum_;
    min_ = std::min(min_, other.min_);
    max_ = std::max(max_, other.max_);
  }

  /// Bucket of a value; public for tests.
  [[nodiscard]] static std::size_t index_of(std::uint64_t ps) {
    if (ps < (1U << sub_bits)) [[unlikely]]
      return static_cast<std::size_t>(ps);
    // Octave and position in it; the leading one bit of the shifted value carries into the octave.
    const unsigned shift = static_cast<unsigned>(std::bit_width(ps)) - 1 - sub_bits;
    return (static_cast<std::size_t>(shift) << sub_bits) + static_cast<std::size_t>(ps >> shift);
  }
  /// Largest value of a bucket; public for tests.
  [[nodiscard]] static std::uint64_t upper_end(std::size_t index) {
    const std::size_t width = index >> sub_bits;
    const std::uint64_t offset = index & ((1U << sub_bits) - 1);
    if (width == 0) return offset;
    return ((offset + (1U << sub_bits) + 1) << (width - 1)) - 1;
  }

 private:
  static constexpr std::size_t bucket_count = (64 - sub_bits + 1) << sub_bits;
  std::vector<std::uint64_t> buckets_;
  std::uint64_t count_ = 0;
  std::int64_t sum_ = 0;
  std::int64_t min_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t max_ = 0;
};

}  // namespace hvsim::engine
