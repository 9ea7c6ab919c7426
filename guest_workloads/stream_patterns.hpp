// SPDX-License-Identifier: Apache-2.0
// Orders in which a stream visits the pages of a region.
#pragma once

#include <cstdint>

#include "sim/engine/random.hpp"

namespace hvsim::workloads {

/// A pseudo-random permutation of 0..n-1 without a table: a Feistel network over the next power of
/// two, applied again while its result lies outside. Immutable; any thread.
class permutation {
 public:
  /// `n` from 1 to 2^62.
  permutation(std::uint64_t n, std::uint64_t key);
  /// Where `i` < n goes.
  [[nodiscard]] std::uint64_t operator()(std::uint64_t i) const;

 private:
  std::uint64_t n_;
  std::uint64_t key_;
  unsigned low_bits_;
  unsigned high_bits_;
};

/// Ranks 1..n with a probability proportional to 1 / rank^s, by rejection-inversion (Hörmann and
/// Derflinger, ACM TOMACS 6(3), 1996). No table; about 1.1 uniform draws a rank. Immutable.
class zipf_ranks {
 public:
  /// `n` from 1 to 2^48, `exponent` above 0 and at most 10.
  zipf_ranks(std::uint64_t n, double exponent);
  std::uint64_t draw(engine::random_stream& random) const;

 private:
  [[nodiscard]] double integral(double x) const;
  [[nodiscard]] double density(double x) const;
  [[nodiscard]] double inverse(double area) const;

  double n_;
  double exponent_;
  double area_first_;
  double area_last_;
  double always_;  // a point this close below its rank is always accepted
};

/// Kinds of order.
enum class pattern : std::uint8_t { sequential, strided, random, zipf, pointer_chase };

/// What an order of offsets needs to know.
struct pattern_options {
  pattern kind = pattern::sequential;
  std::uint64_t size = 0;       ///< of the region in bytes, a positive multiple of 4096
  std::uint64_t stride = 4096;  ///< of strided, in bytes, a multiple of 8
  double exponent = 0.99;       ///< of zipf
  std::uint64_t key = 0;    ///< which permutation: of pointer_chase, and of zipf's ranks to pages
  std::uint64_t start = 0;  ///< page number at which pointer_chase enters its cycle
};

/// Offsets into a region, one after the other. One vCPU's fiber.
class offset_stream {
 public:
  /// `random` must outlive the stream.
  offset_stream(const pattern_options& o, engine::random_stream& random);
  /// The next offset in bytes, below `size`, a multiple of 8.
  std::uint64_t next();

 private:
  pattern_options options_;
  engine::random_stream& random_;
  std::uint64_t pages_;
  permutation order_;
  zipf_ranks ranks_;
  std::uint64_t at_;
};

}  // namespace hvsim::workloads
