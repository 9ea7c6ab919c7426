// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/optimise.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <set>
#include <stdexcept>

using namespace hvsim::experiment;

namespace {

template <class F>
evaluate_points each(F f) {
  return [f](const std::vector<fit_point>& points) {
    std::vector<std::vector<double>> out;
    for (const fit_point& p : points) out.push_back(f(p));
    return out;
  };
}

std::vector<double> rosenbrock(const fit_point& p) {
  return {10 * (p[1] - p[0] * p[0]), 1 - p[0]};
}

}  // namespace

TEST_CASE("Rosenbrock's valley ends at (1, 1)", "[experiment]") {
  fit_options options;
  options.max_rounds = 300;
  const fit_result r =
      least_squares({{"x", -1.2, -2, 2}, {"y", 1, -2, 3}}, each(rosenbrock), options);
  CHECK(r.start_cost == Approx(24.2));
  CHECK(r.values[0] == Approx(1).epsilon(1e-3));
  CHECK(r.values[1] == Approx(1).epsilon(1e-3));
  CHECK(r.at_bound.empty());
}

TEST_CASE("a valley cut by a bound ends on the bound and says so", "[experiment]") {
  // With x <= 0.5 the minimum is at x = 0.5, y = x^2 = 0.25, where the cost is (1 - 0.5)^2.
  fit_options options;
  options.max_rounds = 300;
  const fit_result r =
      least_squares({{"x", -1.2, -2, 0.5}, {"y", 1, -2, 3}}, each(rosenbrock), options);
  CHECK(r.values[0] == Approx(0.5));
  CHECK(r.values[1] == Approx(0.25).epsilon(1e-3));
  CHECK(r.cost == Approx(0.25).epsilon(1e-4));
  CHECK(r.at_bound == std::vector<std::size_t>{0});
}

TEST_CASE("a straight line comes out as the normal equations say", "[experiment]") {
  // Points (0,1) (1,3) (2,4) (3,7): slope = 19/10, intercept = 9/10, sum of squares 0.7.
  const std::vector<std::pair<double, double>> points = {{0, 1}, {1, 3}, {2, 4}, {3, 7}};
  const auto line = [&](const fit_point& p) {
    std::vector<double> out;
    for (const auto& [x, y] : points) out.push_back(p[0] * x + p[1] - y);
    return out;
  };
  const fit_result r = least_squares({{"slope", 0.1, 0, 10}, {"intercept", 5, -5, 10}}, each(line));
  CHECK(r.values[0] == Approx(1.9).epsilon(1e-5));
  CHECK(r.values[1] == Approx(0.9).epsilon(1e-5));
  CHECK(r.cost == Approx(0.7).epsilon(1e-6));
}

TEST_CASE("whole-number parameters stay whole and no point is asked for twice", "[experiment]") {
  std::set<fit_point> asked;
  const auto f = [&](const fit_point& p) {
    CHECK(asked.insert(p).second);
    for (double v : p) CHECK(v == std::floor(v));
    return std::vector<double>{p[0] - 700.4, 2 * (p[1] - 31.0)};
  };
  const fit_result r = least_squares({{"a", 100, 0, 1000, 1}, {"b", 90, 0, 100, 1}}, each(f));
  CHECK(r.values == fit_point{700, 31});
  CHECK(r.evaluations == asked.size());
}

TEST_CASE("a parameter without influence stays where it is", "[experiment]") {
  const auto f = [](const fit_point& p) { return std::vector<double>{p[0] - 3}; };
  const fit_result r = least_squares({{"used", 1, 0, 10}, {"unused", 4, 0, 10}}, each(f));
  CHECK(r.values[0] == Approx(3).epsilon(1e-6));
  CHECK(r.values[1] == Approx(4));
}

TEST_CASE("the search is the same each time and refuses a start outside", "[experiment]") {
  const std::vector<fit_parameter> p = {{"x", -1.2, -2, 2}, {"y", 1, -2, 3}};
  const fit_result a = least_squares(p, each(rosenbrock));
  const fit_result b = least_squares(p, each(rosenbrock));
  CHECK(a.values == b.values);
  CHECK(a.evaluations == b.evaluations);
  CHECK_THROWS_AS(least_squares({{"x", 5, 0, 1}}, each(rosenbrock)), std::invalid_argument);
  CHECK_THROWS_AS(least_squares({{"x", 1, 1, 1}}, each(rosenbrock)), std::invalid_argument);
}

TEST_CASE("a search that is stopped returns the best of what it knows", "[experiment]") {
  // One parameter: the start, a probe, then candidates, so that the third question is cut off.
  int questions = 0;
  const auto stops_at = [&](int last) {
    return [&questions, last](const std::vector<fit_point>& points) {
      if (++questions == last) throw fit_stopped();
      std::vector<std::vector<double>> out;
      for (const fit_point& p : points) out.push_back({p[0] - 10});
      return out;
    };
  };
  const std::vector<fit_parameter> one{{"x", 4, 0, 20}};
  const fit_result cut = least_squares(one, stops_at(3), {});
  CHECK(cut.stopped);
  CHECK(cut.rounds == 0);
  // The probe stands 2 % of the range beside the start, which is nearer to 10.
  CHECK(cut.values[0] == Approx(4.4));
  CHECK(cut.residuals[0] == Approx(-5.6));
  CHECK(cut.cost < cut.start_cost);
  questions = 0;
  const fit_result later = least_squares(one, stops_at(5), {});
  CHECK(later.stopped);
  CHECK(later.rounds == 1);
  CHECK(later.values[0] == Approx(10).epsilon(0.01));
  questions = 0;
  CHECK_THROWS_AS(least_squares(one, stops_at(1), {}), fit_stopped);
  questions = 0;
  CHECK_FALSE(least_squares(one, stops_at(1000), {}).stopped);
}
