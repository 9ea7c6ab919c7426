// SPDX-License-Identifier: Apache-2.0
#include "sim/report/svg.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "xml.hpp"

using namespace hvsim;
using report::axis_scale;
using report::plot_mark;

namespace {

report::plot log_plot() {
  report::plot p;
  p.title = "a < b & \"c\"";
  p.x = {"vCPUs", axis_scale::log, 1.0, 100.0, {}, {}};
  p.y = {"time", axis_scale::log, 0.1, 10.0, {}, {}};
  p.series = {{"line", plot_mark::line, 0, {{1, 0.1}, {10, 1}, {100, 10}}},
              {"points", plot_mark::filled_circle, 1, {{10, 1}}}};
  return p;
}

}  // namespace

TEST_CASE("known points stand where the logarithm puts them", "[report]") {
  // 760 x 500: data from x 70 to 736, from y 48 (top) to 500 - 62 - 20 = 418. On two decades the
  // middle is the geometric mean: (70 + 736) / 2 = 403 and (48 + 418) / 2 = 233.
  const auto root = test::xml_reader(report::to_svg(log_plot())).document();
  const auto lines = root.all("polyline");
  REQUIRE(lines.size() == 2);  // the series and its sample in the legend
  CHECK(lines[0]->attributes.at("points") == "70.00,418.00 403.00,233.00 736.00,48.00");
  const auto circles = root.all("circle");
  REQUIRE(circles.size() == 2);
  CHECK(circles[0]->attributes.at("cx") == "403.00");
  CHECK(circles[0]->attributes.at("cy") == "233.00");
}

TEST_CASE("a logarithmic axis is labelled at 1, 2 and 5", "[report]") {
  const auto [x, y] = report::axes_of(log_plot());
  CHECK(x.ticks == std::vector<double>{1, 2, 5, 10, 20, 50, 100});
  REQUIRE(y.ticks.size() == 7);
  CHECK(y.ticks[1] == Approx(0.2));
  // log10(2) = 0.30103: 70 + 666 * 0.30103 / 2
  CHECK(x.at(2) == Approx(70 + 333 * 0.3010299957).epsilon(1e-9));
}

TEST_CASE("ranges are rounded outwards to 1-2-5 steps", "[report]") {
  report::plot p = log_plot();
  p.x.min = p.x.max = p.y.min = p.y.max = std::nullopt;
  p.series = {{"s", plot_mark::line, 0, {{1, 0.18}, {48, 29.15}}}};
  const auto [x, y] = report::axes_of(p);
  CHECK(x.low == 1);
  CHECK(x.high == 50);
  CHECK(y.low == Approx(0.1));
  CHECK(y.high == 50);
}

TEST_CASE("linear axes start at zero and bars stand on it", "[report]") {
  report::plot p;
  p.title = "bars";
  p.x = {"kernel", axis_scale::category, {}, {}, {}, {"a", "b"}};
  p.y = {"time", axis_scale::linear, {}, {}, {}, {}};
  p.series = {{"one", plot_mark::bar, 0, {{0, 3}, {1, 6}}}, {"two", plot_mark::bar, 1, {{1, 6}}}};
  const auto [x, y] = report::axes_of(p);
  CHECK(y.low == 0);
  CHECK(y.high == 6);
  // Two categories share 666 pixels: the middles are a quarter and three quarters in.
  CHECK(x.at(0) == Approx(70 + 666 * 0.25));
  CHECK(x.at(1) == Approx(70 + 666 * 0.75));
  const auto root = test::xml_reader(report::to_svg(p)).document();
  const auto bars = root.all("rect");
  REQUIRE(bars.size() == 6);  // background, three bars, two legend samples
  CHECK(std::stod(bars[2]->attributes.at("height")) ==
        Approx(2 * std::stod(bars[1]->attributes.at("height"))).epsilon(0.001));
}

TEST_CASE("names are escaped and the picture is the same each time", "[report]") {
  const std::string svg = report::to_svg(log_plot());
  const auto root = test::xml_reader(svg).document();
  CHECK(root.name == "svg");
  CHECK(root.attributes.at("xmlns") == "http://www.w3.org/2000/svg");
  REQUIRE(root.all("title").size() == 1);
  CHECK(root.all("title")[0]->text == "a < b & \"c\"");
  CHECK(svg == report::to_svg(log_plot()));
}

TEST_CASE("what cannot be drawn is refused", "[report]") {
  report::plot p = log_plot();
  p.series = {{"zero", plot_mark::line, 0, {{1, 0}, {2, 1}}}};
  p.y.min = p.y.max = std::nullopt;
  CHECK_THROWS_AS(report::to_svg(p), std::logic_error);
  p.series.clear();
  CHECK_THROWS_AS(report::to_svg(p), std::logic_error);
}

TEST_CASE("the portable logarithm agrees with the library's", "[report]") {
  for (double v : {1e-9, 0.001, 0.18, 0.5, 0.70710678, 0.99, 1.0, 1.5, 2.0, 9.99, 48.0, 1e12})
    CHECK(report::portable_log10(v) == Approx(std::log10(v)).epsilon(1e-14).margin(1e-16));
  CHECK_THROWS_AS(report::portable_log10(0), std::logic_error);
}
