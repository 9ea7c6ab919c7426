// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <set>
#include <vector>

#include "sim/engine/fingerprint.hpp"
#include "sim/engine/histogram.hpp"
#include "sim/engine/random.hpp"
#include "sim/engine/ready_tree.hpp"
#include "sim/engine/units.hpp"

using namespace hvsim::engine;

namespace {

/// Knuth's MMIX generator: random input that does not come from the code under test.
struct lcg {
  std::uint64_t state;
  std::uint64_t next() {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return state >> 16;
  }
};

/// Threefry-2x64 with 13 rounds, from the description in Salmon et al., SC'11.
std::array<std::uint64_t, 2> threefry_13(std::array<std::uint64_t, 2> counter,
                                         std::array<std::uint64_t, 2> key) {
  constexpr std::array<unsigned, 8> rotations{16, 42, 12, 31, 16, 32, 24, 21};
  const std::array<std::uint64_t, 3> ks{key[0], key[1], 0x1BD11BDAA9FC1A22ULL ^ key[0] ^ key[1]};
  std::uint64_t a = counter[0] + ks[0];
  std::uint64_t b = counter[1] + ks[1];
  for (unsigned round = 0; round < 13; ++round) {
    a += b;
    b = b << rotations[round % 8] | b >> (64 - rotations[round % 8]);
    b ^= a;
    if (round % 4 == 3) {
      const unsigned s = round / 4 + 1;
      a += ks[s % 3];
      b += ks[(s + 1) % 3] + s;
    }
  }
  return {a, b};
}

}  // namespace

TEST_CASE("units compute in their own quantity") {
  CHECK(seconds(1) == duration{1'000'000'000'000});
  CHECK(milliseconds(3) + microseconds(2) - nanoseconds(1) == picoseconds(3'001'999'000));
  CHECK(nanoseconds(7) / 2 == picoseconds(3500));
  CHECK(sim_time{50} - sim_time{20} == duration{30});
  CHECK(sim_time{50} - duration{20} == sim_time{30});
  CHECK(kibibytes(1).value() == 1024);
  CHECK(mebibytes(3).value() == 3 * 1024 * 1024);
  CHECK(gibibytes(1) / mebibytes(2) == 512);
  CHECK(ipa{0x12345678}.align_down(12) == ipa{0x12345000});
  CHECK(ipa{0x5000} - ipa{0x2000} == bytes{0x3000});
  CHECK((gva{0x1000} + kibibytes(4)).value() == 0x2000);
  CHECK(core_id{3} < core_id{4});
}

TEST_CASE("the ready tree agrees with an ordered set") {
  for (const std::size_t threads : {1U, 2U, 3U, 64U, 513U}) {
    lcg random{threads};
    ready_tree tree(threads);
    CHECK(tree.capacity() >= threads);
    CHECK(tree.top() == never);
    std::vector<event_key> keys(threads, never);
    std::multiset<event_key> model(keys.begin(), keys.end());
    for (int i = 0; i < 3000; ++i) {
      const std::size_t id = random.next() % threads;
      const event_key key = random.next() % 8 == 0 ? never : random.next() % 5000;
      model.erase(model.find(keys[id]));
      keys[id] = key;
      if (random.next() % 2 == 0) {
        REQUIRE(tree.remove(id) == (model.empty() ? never : *model.begin()));
        tree.insert(id, key);
        model.insert(key);
      } else {
        model.insert(key);
        REQUIRE(tree.replace(id, key) == *model.begin());
      }
      REQUIRE(tree.get(id) == key);
      REQUIRE(tree.top() == *model.begin());
    }
  }
}

TEST_CASE("random streams give Threefry's published values") {
  // Known-answer file of the Random123 distribution, "threefry2x64 13".
  CHECK(threefry_13({0, 0}, {0, 0}) ==
        std::array<std::uint64_t, 2>{0xf167b032c3b480bd, 0xe91f9fee4b7a6fb5});
  CHECK(threefry_13({0x243f6a8885a308d3, 0x13198a2e03707344},
                    {0xa4093822299f31d0, 0x082efa98ec4e6c89}) ==
        std::array<std::uint64_t, 2>{0xc3aac71561042993, 0x3fe7ae8801aff316});
  random_stream zero(0, 0);
  CHECK(zero.next() == 0xe91f9fee4b7a6fb5);
  CHECK(zero.next() == 0xf167b032c3b480bd);
  random_stream s(42, 7);
  for (std::uint64_t n = 0; n < 100; ++n) {
    const auto block = threefry_13({n, 0}, {42, 7});
    CHECK(s.next() == block[1]);
    CHECK(s.next() == block[0]);
  }
}

TEST_CASE("streams differ by seed and by number, and do not depend on each other") {
  std::set<std::uint64_t> first;
  for (std::uint64_t seed = 0; seed < 30; ++seed)
    for (std::uint64_t stream = 0; stream < 30; ++stream)
      first.insert(random_stream(seed, stream).next());
  CHECK(first.size() == 900);
  random_stream a(1, 1), b(1, 1), other(1, 2);
  for (int i = 0; i < 50; ++i) {
    (void)other.next();
    CHECK(a.next() == b.next());
  }
}

TEST_CASE("draws are uniform") {
  // Chi-square over 64 bins: mean 63, standard deviation 11.2; 130 is six deviations up.
  const auto chi_square = [](auto draw, int draws) {
    std::array<int, 64> bins{};
    for (int i = 0; i < draws; ++i) ++bins[draw()];
    const double expected = draws / 64.0;
    double sum = 0;
    for (const int n : bins) sum += (n - expected) * (n - expected) / expected;
    return sum;
  };
  random_stream s(3, 1);
  CHECK(chi_square([&] { return s.next() >> 58; }, 64'000) < 130);
  CHECK(chi_square([&] { return s.next() & 63; }, 64'000) < 130);
  CHECK(chi_square([&] { return s.next16() >> 10; }, 64'000) < 130);
  CHECK(chi_square([&] { return s.below(64); }, 64'000) < 130);
  bool low = false, high = false;
  for (int i = 0; i < 1000; ++i) {
    const auto v = s.below(3);
    REQUIRE(v < 3);
    low = low || v == 0;
    high = high || v == 2;
  }
  CHECK((low && high));
}

TEST_CASE("a perturbed cost keeps its mean") {
  // A 16-bit draw v stands for u = 2v + 1 - 65536, which is odd and symmetric about 0; the result
  // is d + d * spread/1000 * u/65536, cut towards 0.
  random_stream draws(9, 9), costs(9, 9);
  std::int64_t sum = 0;
  for (int i = 0; i < 65536; ++i) {
    const std::int64_t u = 2 * std::int64_t{draws.next16()} + 1 - 65536;
    const duration d = costs.perturb(nanoseconds(100), 50);
    REQUIRE(d.ps() == 100'000 + 100'000 * 50 * u / 65'536'000);
    REQUIRE(d >= nanoseconds(95));
    REQUIRE(d <= nanoseconds(105));
    sum += d.ps() - 100'000;
  }
  // Uniform over +-5000 ps: one draw has a deviation of 2887 ps, the mean of 65536 has 11.3 ps.
  CHECK(std::abs(sum / 65536) < 60);
  // Over all draws, not a sample, deviations cancel in pairs: u and -u.
  std::int64_t all = 0;
  for (std::int64_t v = 0; v < 65536; ++v) all += 100'000 * 50 * (2 * v + 1 - 65536) / 65'536'000;
  CHECK(all == 0);
  CHECK(random_stream(1, 1).perturb(nanoseconds(3), 0) == nanoseconds(3));
}

TEST_CASE("histogram buckets have the stated bounds") {
  // Exact below 128; then 128 buckets for each doubling: 128..255 by 1, 256..511 by 2, 512.. by 4.
  CHECK(histogram::index_of(0) == 0);
  CHECK(histogram::index_of(127) == 127);
  CHECK(histogram::index_of(128) == 128);
  CHECK(histogram::index_of(255) == 255);
  CHECK(histogram::index_of(256) == 256);
  CHECK(histogram::index_of(257) == 256);
  CHECK(histogram::index_of(258) == 257);
  CHECK(histogram::index_of(511) == 383);
  CHECK(histogram::index_of(512) == 384);
  CHECK(histogram::index_of(515) == 384);
  CHECK(histogram::upper_end(127) == 127);
  CHECK(histogram::upper_end(200) == 200);
  CHECK(histogram::upper_end(256) == 257);
  CHECK(histogram::upper_end(383) == 511);
  CHECK(histogram::upper_end(384) == 515);
  lcg random{5};
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t v = random.next() >> (random.next() % 48);
    const std::size_t b = histogram::index_of(v);
    CHECK(v <= histogram::upper_end(b));
    if (b != 0) CHECK(v > histogram::upper_end(b - 1));
    CHECK(histogram::upper_end(b) - v <= v / 128);
  }
}

TEST_CASE("percentiles agree with a sorted vector to one bucket") {
  lcg random{11};
  histogram h, left, right;
  CHECK(h.percentile(500) == duration{});
  CHECK(h.min() == duration{});
  std::vector<std::int64_t> values;
  for (int i = 0; i < 5000; ++i) {
    const auto v = static_cast<std::int64_t>(random.next() >> (20 + random.next() % 28));
    values.push_back(v);
    h.record(duration{v});
    (i % 3 == 0 ? left : right).record(duration{v});
  }
  left.merge(right);
  histogram together;  // some at a time, with some alone between
  for (std::size_t i = 0; i < values.size();) {
    for (histogram::recorder r(together); i < values.size() && i % 41 != 40; ++i)
      r.record(duration{values[i]});
    if (i < values.size()) together.record(duration{values[i++]});
  }
  std::sort(values.begin(), values.end());
  for (const unsigned permille : {1U, 10U, 250U, 500U, 900U, 990U, 999U, 1000U}) {
    const std::int64_t exact = values[(values.size() * permille + 999) / 1000 - 1];
    CHECK(h.percentile(permille).ps() >= exact);
    CHECK(h.percentile(permille).ps() <= exact + exact / 128);
    CHECK(left.percentile(permille) == h.percentile(permille));
    CHECK(together.percentile(permille) == h.percentile(permille));
  }
  CHECK(h.min().ps() == values.front());
  CHECK(h.max().ps() == values.back());
  std::int64_t sum = 0;
  for (const auto v : values) sum += v;
  CHECK(h.sum().ps() == sum);
  CHECK(h.mean().ps() == sum / 5000);
  CHECK(left.count() == 5000);
  CHECK(left.sum() == h.sum());
  CHECK(together.count() == 5000);
  CHECK(together.sum().ps() == sum);
  CHECK(together.min().ps() == values.front());
  CHECK(together.max().ps() == values.back());
}

TEST_CASE("a fingerprint depends on every word and on their order") {
  const auto of = [](std::vector<std::uint64_t> words) {
    fingerprint f;
    for (const auto w : words) f.add(w);
    return f.value();
  };
  CHECK(of({1, 2, 3}) == of({1, 2, 3}));
  CHECK(of({1, 2, 3}) != of({1, 3, 2}));
  CHECK(of({1, 2, 3}) != of({1, 2, 4}));
  CHECK(of({1, 2}) != of({1, 2, 0}));
}
