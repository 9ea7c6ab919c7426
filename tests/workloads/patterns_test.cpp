// SPDX-License-Identifier: Apache-2.0
// Access patterns and the arithmetic behind them.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>

#include "guest_workloads/stream_math.hpp"
#include "guest_workloads/stream_patterns.hpp"

using namespace hvsim;

TEST_CASE("logarithm and exponential agree with the C library", "[stream]") {
  for (double x = 1e-6; x < 1e15; x *= 1.37) {
    CHECK(workloads::portable_log(x) == Approx(std::log(x)).epsilon(1e-13).margin(1e-14));
    CHECK(workloads::portable_exp(std::log(x)) == Approx(x).epsilon(1e-12));
  }
  for (double t = -0.95; t < 30; t += 0.0501) {
    CHECK(workloads::log1p_over(t) == Approx(std::log1p(t) / t).epsilon(1e-12));
    CHECK(workloads::expm1_over(t) == Approx(std::expm1(t) / t).epsilon(1e-12));
  }
  CHECK(workloads::log1p_over(0) == 1);
  CHECK(workloads::expm1_over(0) == 1);
}

TEST_CASE("zipf ranks have the frequencies of the distribution", "[stream]") {
  constexpr std::uint64_t n = 1000;
  constexpr std::uint64_t draws = 200'000;
  for (const double s : {0.5, 0.99, 1.0, 1.5, 3.0}) {
    double normal = 0;
    for (std::uint64_t k = 1; k <= n; ++k) normal += std::pow(static_cast<double>(k), -s);
    const workloads::zipf_ranks ranks(n, s);
    engine::random_stream random(7, 1);
    std::vector<std::uint64_t> seen(n + 1);
    for (std::uint64_t i = 0; i < draws; ++i) {
      const std::uint64_t k = ranks.draw(random);
      REQUIRE(k >= 1);
      REQUIRE(k <= n);
      ++seen[k];
    }
    // Chi-square over the ranks that expect at least 20 draws, the others in one class.
    double chi = 0;
    double rest_expected = 0;
    double rest_seen = 0;
    int classes = 0;
    for (std::uint64_t k = 1; k <= n; ++k) {
      const double expected =
          static_cast<double>(draws) * std::pow(static_cast<double>(k), -s) / normal;
      if (expected < 20) {
        rest_expected += expected;
        rest_seen += static_cast<double>(seen[k]);
        continue;
      }
      const double off = static_cast<double>(seen[k]) - expected;
      chi += off * off / expected;
      ++classes;
    }
    if (rest_expected > 0) {
      chi += (rest_seen - rest_expected) * (rest_seen - rest_expected) / rest_expected;
      ++classes;
    }
    // Mean classes - 1, variance twice that: five standard deviations.
    const double freedom = classes - 1;
    INFO("exponent " << s << ", chi-square " << chi << " with " << freedom);
    CHECK(chi < freedom + 5 * std::sqrt(2 * freedom));
  }
}

TEST_CASE("a region of one page has one rank", "[stream]") {
  engine::random_stream random(1, 1);
  const workloads::zipf_ranks ranks(1, 0.99);
  for (int i = 0; i < 100; ++i) CHECK(ranks.draw(random) == 1);
}

TEST_CASE("a permutation visits every page once", "[stream]") {
  for (const std::uint64_t n : {1U, 2U, 3U, 4U, 5U, 100U, 512U, 513U, 4095U, 4097U, 100000U}) {
    const workloads::permutation order(n, 0x1234);
    std::vector<bool> seen(n);
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::uint64_t to = order(i);
      REQUIRE(to < n);
      REQUIRE_FALSE(seen[to]);
      seen[to] = true;
    }
  }
}

TEST_CASE("a pointer chase is no sequence, and another key gives another", "[stream]") {
  constexpr std::uint64_t n = 4096;
  const workloads::permutation a(n, 1);
  const workloads::permutation b(n, 2);
  std::uint64_t neighbours = 0;
  std::uint64_t same = 0;
  for (std::uint64_t i = 0; i + 1 < n; ++i) {
    if (a(i + 1) == a(i) + 1) ++neighbours;
    if (a(i) == b(i)) ++same;
  }
  // Both are about 1 for random orders.
  CHECK(neighbours < 12);
  CHECK(same < 12);
}

TEST_CASE("patterns stay in their region", "[stream]") {
  using workloads::pattern;
  engine::random_stream random(3, 3);
  workloads::pattern_options o;
  o.size = 3 * 4096;
  const auto first = [&](pattern p, std::size_t count) {
    o.kind = p;
    workloads::offset_stream s(o, random);
    std::vector<std::uint64_t> out(count);
    for (auto& x : out) x = s.next();
    return out;
  };
  CHECK(first(pattern::sequential, 4) == std::vector<std::uint64_t>{0, 4096, 8192, 0});
  o.stride = 5000;
  CHECK(first(pattern::strided, 4) == std::vector<std::uint64_t>{0, 5000, 10000, 2712});
  for (const pattern p : {pattern::random, pattern::zipf, pattern::pointer_chase})
    for (const std::uint64_t x : first(p, 100)) {
      CHECK(x < o.size);
      CHECK(x % 4096 == 0);
    }
}
