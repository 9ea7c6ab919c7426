// SPDX-License-Identifier: Apache-2.0
#include "guest_workloads/stream_patterns.hpp"

#include <algorithm>
#include <bit>

#include "guest_workloads/stream_math.hpp"

namespace hvsim::workloads {

namespace {

constexpr std::uint64_t page = 4096;
constexpr int feistel_rounds = 4;

// The 64-bit finaliser of MurmurHash3.
std::uint64_t scramble(std::uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  x ^= x >> 33;
  return x;
}

// Uniform over (0, 1) in steps of 2^-53, exact.
double unit(engine::random_stream& random) {
  return (static_cast<double>(random.next() >> 11) + 0.5) * 0x1p-53;
}

}  // namespace

permutation::permutation(std::uint64_t n, std::uint64_t key) : n_(n), key_(key) {
  const auto bits = std::max(2U, static_cast<unsigned>(std::bit_width(n - 1)));
  low_bits_ = bits / 2;
  high_bits_ = bits - low_bits_;
}

std::uint64_t permutation::operator()(std::uint64_t i) const {
  const std::uint64_t low_mask = (std::uint64_t{1} << low_bits_) - 1;
  const std::uint64_t high_mask = (std::uint64_t{1} << high_bits_) - 1;
  do {
    std::uint64_t low = i & low_mask;
    std::uint64_t high = i >> low_bits_;
    for (int round = 0; round < feistel_rounds; ++round) {
      const auto salt = static_cast<std::uint64_t>(2 * round);
      high ^= scramble(key_ + (salt << 48) + low) & high_mask;
      low ^= scramble(key_ + ((salt + 1) << 48) + high) & low_mask;
    }
    i = high << low_bits_ | low;
  } while (i >= n_);
  return i;
}

zipf_ranks::zipf_ranks(std::uint64_t n, double exponent)
    : n_(static_cast<double>(n)),
      exponent_(exponent),
      area_first_(integral(1.5) - 1),
      area_last_(integral(n_ + 0.5)),
      always_(2 - inverse(integral(2.5) - density(2))) {}

// Integral of the density, with its zero at 1: (x^(1-s) - 1) / (1 - s), log(x) for s = 1.
double zipf_ranks::integral(double x) const {
  const double log_x = portable_log(x);
  return expm1_over((1 - exponent_) * log_x) * log_x;
}

double zipf_ranks::density(double x) const {
  return portable_exp(-exponent_ * portable_log(x));
}

double zipf_ranks::inverse(double area) const {
  // Rounding may carry the argument past the pole of the inverse.
  constexpr double pole = -1 + 0x1p-50;
  const double t = std::max(area * (1 - exponent_), pole);
  return portable_exp(log1p_over(t) * area);
}

std::uint64_t zipf_ranks::draw(engine::random_stream& random) const {
  for (;;) {
    const double area = area_last_ + unit(random) * (area_first_ - area_last_);
    const double x = inverse(area);
    const double whole =
        std::clamp(static_cast<double>(static_cast<std::uint64_t>(std::min(x, n_) + 0.5)), 1.0, n_);
    if (whole - x <= always_ || area >= integral(whole + 0.5) - density(whole))
      return static_cast<std::uint64_t>(whole);
  }
}

offset_stream::offset_stream(const pattern_options& o, engine::random_stream& random)
    : options_(o),
      random_(random),
      pages_(o.size / page),
      order_(pages_, o.key),
      ranks_(pages_, o.exponent),
      at_(o.kind == pattern::pointer_chase ? o.start % pages_ : 0) {}

std::uint64_t offset_stream::next() {
  std::uint64_t now = at_;
  switch (options_.kind) {
    case pattern::sequential:
      at_ = at_ + 1 == pages_ ? 0 : at_ + 1;
      break;
    case pattern::strided:
      at_ = (at_ + options_.stride) % options_.size;
      return now;
    case pattern::random:
      now = random_.below(pages_);
      break;
    case pattern::zipf:
      now = order_(ranks_.draw(random_) - 1);
      break;
    case pattern::pointer_chase:
      at_ = at_ + 1 == pages_ ? 0 : at_ + 1;
      now = order_(now);
      break;
  }
  return now * page;
}

}  // namespace hvsim::workloads
