// SPDX-License-Identifier: Apache-2.0
#include "sim/report/time_text.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <stdexcept>

using namespace hvsim;
using engine::duration;

TEST_CASE("seconds keep every digit that is asked for", "[report]") {
  CHECK(report::seconds_text(duration{29'150'000'000'000}) == "29.150000000");
  CHECK(report::seconds_text(duration{0}) == "0.000000000");
  CHECK(report::seconds_text(duration{1}, 12) == "0.000000000001");
  CHECK(report::seconds_text(duration{1'999'999'999'999}, 0) == "2");
  CHECK(report::seconds_text(duration{-1'500'000'000'000}, 3) == "-1.500");
  CHECK(report::seconds_text(duration{std::numeric_limits<std::int64_t>::max()}, 12) ==
        "9223372.036854775807");
  CHECK(report::seconds_text(duration{std::numeric_limits<std::int64_t>::min()}, 12) ==
        "-9223372.036854775808");
}

TEST_CASE("the last digit is rounded half away from zero", "[report]") {
  CHECK(report::seconds_text(duration{499}) == "0.000000000");
  CHECK(report::seconds_text(duration{500}) == "0.000000001");
  CHECK(report::seconds_text(duration{1'499}) == "0.000000001");
  CHECK(report::seconds_text(duration{-499}) == "0.000000000");
  CHECK(report::seconds_text(duration{-500}) == "-0.000000001");
}

TEST_CASE("a unit that the last digit does not divide is refused", "[report]") {
  CHECK(report::time_in(engine::nanoseconds(1500), engine::microseconds(1), 1) == "1.5");
  CHECK_THROWS_AS(report::time_in(duration{1}, engine::nanoseconds(1), 4), std::logic_error);
  CHECK_THROWS_AS(report::time_in(duration{1}, engine::seconds(1), 13), std::logic_error);
}

TEST_CASE("scaled times change unit exactly at one", "[report]") {
  CHECK(report::scaled_text(engine::seconds(5)) == "5.00 s");
  CHECK(report::scaled_text(engine::microseconds(1670)) == "1.67 ms");
  CHECK(report::scaled_text(engine::nanoseconds(45'860)) == "45.86 us");
  CHECK(report::scaled_text(engine::nanoseconds(1'000)) == "1.00 us");
  CHECK(report::scaled_text(engine::nanoseconds(999)) == "999 ns");
  CHECK(report::scaled_text(duration{999}) == "999 ps");
  CHECK(report::scaled_text(duration{}) == "0 ps");
}

TEST_CASE("shares are rounded once, from the exact quotient", "[report]") {
  CHECK(report::percent_text(1, 3) == "33.33");
  CHECK(report::percent_text(2, 3) == "66.67");
  CHECK(report::percent_text(1, 8, 0) == "13");
  CHECK(report::percent_text(0, 0) == "0.00");
  CHECK(report::percent_text(9'000'000'000'000'000'000, 9'000'000'000'000'000'000, 6) ==
        "100.000000");
  CHECK_THROWS_AS(report::percent_text(-1, 3), std::logic_error);
}
