// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/cell_error.hpp"

#include <catch2/catch.hpp>

using namespace hvsim::experiment;

TEST_CASE("an error against an interval starts at its nearest end", "[experiment]") {
  // 2.42 and 2.65 were published. 2.5 is inside; 2.178 is 10 % below 2.42; 2.915 is 10 %
  // above 2.65.
  CHECK(*outside_percent(2.5, {2.65, 2.42}) == 0);
  CHECK(*outside_percent(2.42, {2.65, 2.42}) == 0);
  CHECK(*outside_percent(2.178, {2.65, 2.42}) == Approx(-10));
  CHECK(*outside_percent(2.915, {2.65, 2.42}) == Approx(10));
  CHECK(*outside_percent(1.1, {1.0}) == Approx(10));
  CHECK_FALSE(outside_percent(1.0, {}).has_value());
  CHECK(error_percent(0.9, 1.2) == Approx(-25));
}

TEST_CASE("a summary takes magnitudes and keeps the sign of the worst", "[experiment]") {
  const error_summary s = summarise({1, -5, 3});
  CHECK(s.cells == 3);
  CHECK(s.mean == Approx(3));
  CHECK(s.worst == -5);
  CHECK(summarise({}).cells == 0);
  CHECK(summarise({}).mean == 0);
}

TEST_CASE("seeds are compared with the first one", "[experiment]") {
  CHECK(spread_percent({2.0, 1.9, 2.1}) == Approx(10));
  CHECK(spread_percent({2.0}) == 0);
}

TEST_CASE("percentages carry a sign unless they round to zero", "[experiment]") {
  CHECK(signed_text(1.25, 2) == "+1.25");
  CHECK(signed_text(-0.26) == "-0.3");
  CHECK(signed_text(-0.04) == "0.0");
  CHECK(signed_text(0) == "0.0");
}
