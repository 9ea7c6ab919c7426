// SPDX-License-Identifier: Apache-2.0
// Values with units against hand arithmetic.
#include <catch2/catch.hpp>

#include "sim/scenario/units.hpp"

using namespace hvsim;
using namespace hvsim::scenario;
using registry::value_type;

namespace {
struct row {
  const char* text;
  std::int64_t expected;
};
}  // namespace

TEST_CASE("sizes are exact powers of 1024", "[scenario][units]") {
  for (const auto& r :
       {row{"0", 0}, row{"0B", 0}, row{"512B", 512}, row{"4KiB", 4096}, row{"4K", 4096},
        row{"2M", 2097152}, row{"1.5GiB", 1610612736}, row{"4GiB", 4294967296},
        row{"4 GiB", 4294967296}, row{"0.5KiB", 512}, row{"1TiB", 1099511627776},
        row{"1.0009765625KiB", 1025}, row{"8388607TiB", 9223370937343148032}}) {
    INFO(r.text);
    auto v = parse_size(r.text);
    REQUIRE(v);
    CHECK(*v.value == r.expected);
  }
  for (const char* bad :
       {"",       "B",      "4",      "1.",      ".5KiB",      "1..5KiB",
        "4GB",    "4kib",   "0.3B",   "1.1KiB",  "-1KiB",      "+1KiB",
        "1e3KiB", "010KiB", "00",     "00.5KiB", "8388608TiB", "99999999999999999999B",
        "4ns",    "4GiBx",  "0x10KiB"}) {
    INFO(bad);
    auto v = parse_size(bad);
    CHECK_FALSE(v);
    CHECK_FALSE(v.error.empty());
  }
}

TEST_CASE("times are exact picoseconds", "[scenario][units]") {
  for (const auto& r : {row{"0", 0}, row{"1ps", 1}, row{"250ns", 250'000}, row{"1.5us", 1'500'000},
                        row{"0.001ns", 1}, row{"4ms", 4'000'000'000}, row{"0.1s", 100'000'000'000},
                        row{"9223372s", 9'223'372'000'000'000'000}}) {
    INFO(r.text);
    auto v = parse_time(r.text);
    REQUIRE(v);
    CHECK(*v.value == r.expected);
  }
  for (const char* bad :
       {"1", "0.5ps", "010ns", "0.0001ns", "9223373s", "1min", "1NS", "4KiB", "ns"}) {
    INFO(bad);
    CHECK_FALSE(parse_time(bad));
  }
}

TEST_CASE("rates are decimal or binary as written", "[scenario][units]") {
  CHECK(*parse_rate("200GB/s").value == 200'000'000'000);
  CHECK(*parse_rate("1GiB/s").value == 1'073'741'824);
  CHECK(*parse_rate("12.5MB/s").value == 12'500'000);
  CHECK_FALSE(parse_rate("200"));
  CHECK_FALSE(parse_rate("200GB"));
}

TEST_CASE("numbers have one reading", "[scenario][units]") {
  CHECK(*parse_integer("42").value == 42);
  CHECK(*parse_integer("-7").value == -7);
  CHECK(*parse_integer("0x1F").value == 31);
  CHECK(*parse_integer("9223372036854775807").value == INT64_MAX);
  for (const char* bad : {"", "-", "1_000", "010", "1.0", "0x", "--1", "9223372036854775808"}) {
    INFO(bad);
    CHECK_FALSE(parse_integer(bad));
  }
  CHECK(*parse_real("0.25").value == 0.25);
  for (const char* bad : {"", "nan", "inf", "1e999", "1,5", "0.5x"}) {
    INFO(bad);
    CHECK_FALSE(parse_real(bad));
  }
  CHECK(*parse_percent_ppm("2%").value == 20'000);
  CHECK(*parse_percent_ppm("0.5 %").value == 5'000);
  CHECK_FALSE(parse_percent_ppm("0.00001%"));
  CHECK_FALSE(parse_percent_ppm("0.02"));
  CHECK_FALSE(parse_percent_ppm("%"));
}

TEST_CASE("canonical text uses the largest whole unit", "[scenario][units]") {
  CHECK(format_size(0) == "0B");
  CHECK(format_size(4294967296) == "4GiB");
  CHECK(format_size(4097) == "4097B");
  CHECK(format_time(1'500'000) == "1500ns");
  CHECK(format_time(4'000'000'000) == "4ms");
  CHECK(format_time(1) == "1ps");
  CHECK(format_rate(200'000'000'000) == "200GB/s");
  CHECK(format_rate(1'073'741'824) == "1GiB/s");
  CHECK(format_real(0.1) == "0.1");
}

TEST_CASE("a bare number is told the unit of its default", "[scenario][units]") {
  registry::parameter p{"a.b", value_type::time, "4ms", "help", {}, {}, {}};
  CHECK_THAT(parse_value(p, "7").error, Catch::Matchers::Contains("did you mean 7ms?"));
  p.type = value_type::size;
  p.default_value = "2MiB";
  CHECK_THAT(parse_value(p, "7").error, Catch::Matchers::Contains("did you mean 7MiB?"));
  p.default_value = "";
  CHECK_THAT(parse_value(p, "7").error, Catch::Matchers::Contains("did you mean 7GiB?"));
}

TEST_CASE("ranges are compared as integers", "[scenario][units]") {
  registry::parameter p{"a.b", value_type::integer, "1", "help", 1.0, 9007199254740992.0, {}};
  CHECK(parse_value(p, "9007199254740992"));
  // 2^53 + 1 rounds to 2^53 as a double.
  CHECK_FALSE(parse_value(p, "9007199254740993"));
  CHECK_FALSE(parse_value(p, "0"));
}

TEST_CASE("slips are recognised, strangers are not", "[scenario][units]") {
  const std::vector<std::string> known{"vcpus", "memory", "placement"};
  CHECK(nearest("vcpu", known) == "vcpus");
  CHECK(nearest("vcpsu", known) == "vcpus");  // two neighbours swapped
  CHECK(nearest("memroy", known) == "memory");
  CHECK(nearest("vcpu_cnt", known) == "vcpus");
  CHECK_FALSE(nearest("bandwidth", known));
  CHECK_FALSE(nearest("", known));
}

TEST_CASE("the nearest words are given however far they are", "[scenario]") {
  const std::vector<std::string> known{"alpha", "beta", "gamma", "betas"};
  CHECK(nearest_words("beat", known, 2) == std::vector<std::string>{"beta", "betas"});
  CHECK(nearest_words("x", known, 1) == std::vector<std::string>{"beta"});
  CHECK(nearest_words("x", known, 9).size() == 4);
  CHECK(with_suggestions("no 'x'", {}) == "no 'x'");
  CHECK(with_suggestions("no 'x'", {"a"}) == "no 'x'; did you mean 'a'?");
  CHECK(with_suggestions("no 'x'", {"a", "b", "c"}) == "no 'x'; did you mean 'a', 'b' or 'c'?");
}
