// SPDX-License-Identifier: Apache-2.0
// Counter-based random streams: the n-th draw of a stream is a function of (seed, stream, n).
#pragma once

#include <Random123/threefry.h>

#include <array>
#include <cstdint>

#include "sim/engine/units.hpp"
#include "sim/engine/wide.hpp"

namespace hvsim::engine {

/// One stream of 64-bit draws. The same (seed, stream) gives the same draws on every host and in
/// every order of use of other streams. Threefry-2x64 (Salmon et al., SC'11).
class random_stream {
 public:
  random_stream() = default;
  random_stream(std::uint64_t seed, std::uint64_t stream) : key_{{seed, stream}} {}

  /// Uniform over all 64-bit values.
  std::uint64_t next() {
    if (left_ == 0) [[unlikely]]
      refill();
    return buffer_[--left_];
  }

  /// Uniform over [0, 65536): four of them come from one 64-bit draw.
  std::uint32_t next16() {
    if (small_left_ == 0) [[unlikely]] {
      small_ = next();
      small_left_ = 4;
    }
    --small_left_;
    const auto v = static_cast<std::uint32_t>(small_ & 0xffff);
    small_ >>= 16;
    return v;
  }

  /// Uniform over [0, bound), bound > 0, without modulo bias beyond 2^-32 (multiply-shift).
  std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<wide>(next()) * bound) >> 64);
  }

  /// `d` moved by a uniform relative error within +-spread (parts per thousand), integers only.
  /// Its mean is `d`.
  duration perturb(duration d, std::uint32_t spread_permille) {
    if (spread_permille == 0) return d;
    const auto u = static_cast<std::int64_t>(next16()) * 2 + 1 - 65536;  // odd, symmetric about 0
    return duration{d.ps() + d.ps() * static_cast<std::int64_t>(spread_permille) * u / 65'536'000};
  }

 private:
  [[gnu::noinline]] void refill() {
    using generator = r123::Threefry2x64_R<13>;
    const generator::ctr_type block =
        generator{}(generator::ctr_type{{counter_++, 0}}, generator::key_type{{key_[0], key_[1]}});
    buffer_[0] = block.v[0];
    buffer_[1] = block.v[1];
    left_ = 2;
  }

  std::array<std::uint64_t, 2> key_{1, 0};
  std::uint64_t counter_ = 0;
  std::array<std::uint64_t, 2> buffer_{};
  unsigned left_ = 0;
  std::uint64_t small_ = 0;
  unsigned small_left_ = 0;
};

}  // namespace hvsim::engine
