// SPDX-License-Identifier: Apache-2.0
#include "guest_workloads/stream_math.hpp"

#include <bit>
#include <cstdint>

namespace hvsim::workloads {

namespace {

// ln 2 in two parts: the first has trailing zeros, so that its small multiples are exact.
constexpr double ln2_high = 6.93147180369123816490e-01;
constexpr double ln2_low = 1.90821492927058770002e-10;

constexpr int mantissa_bits = 52;
constexpr std::uint64_t exponent_bias = 1023;

// atanh(z) / z for |z| below 1/3: sum of z^(2k) / (2k + 1).
double atanh_over(double z) {
  const double square = z * z;
  double sum = 0;
  for (int k = 16; k >= 0; --k) sum = sum * square + 1.0 / (2 * k + 1);
  return sum;
}

}  // namespace

double portable_log(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  auto exponent =
      static_cast<std::int64_t>(bits >> mantissa_bits) - static_cast<std::int64_t>(exponent_bias);
  double mantissa = std::bit_cast<double>((bits & ((1ULL << mantissa_bits) - 1)) |
                                          exponent_bias << mantissa_bits);
  if (mantissa > 1.4142135623730951) {
    mantissa *= 0.5;
    ++exponent;
  }
  const double z = (mantissa - 1) / (mantissa + 1);
  const auto e = static_cast<double>(exponent);
  return e * ln2_high + (e * ln2_low + 2 * z * atanh_over(z));
}

double portable_exp(double x) {
  const double scaled = x / (ln2_high + ln2_low);
  const auto power = static_cast<std::int64_t>(scaled + (scaled < 0 ? -0.5 : 0.5));
  const auto p = static_cast<double>(power);
  const double rest = (x - p * ln2_high) - p * ln2_low;
  double sum = 1;
  for (int k = 16; k >= 1; --k) sum = 1 + sum * rest / k;
  const auto exponent =
      static_cast<std::uint64_t>(power + static_cast<std::int64_t>(exponent_bias));
  return sum * std::bit_cast<double>(exponent << mantissa_bits);
}

double log1p_over(double t) {
  if (t > -0.4 && t < 0.4) return 2 / (2 + t) * atanh_over(t / (2 + t));
  return portable_log(1 + t) / t;
}

double expm1_over(double t) {
  if (t < -0.4 || t > 0.4) return (portable_exp(t) - 1) / t;
  double sum = 1;
  for (int k = 16; k >= 2; --k) sum = 1 + sum * t / k;
  return sum;
}

}  // namespace hvsim::workloads
