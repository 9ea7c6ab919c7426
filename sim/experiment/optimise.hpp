// SPDX-License-Identifier: Apache-2.0
// Bounded least squares without derivatives, for functions that are slow and deterministic.
//
// Levenberg-Marquardt with finite differences inside a box. All points of a round (the differences,
// then several step lengths) are asked for at once, so that the caller can evaluate them in
// parallel. The path depends on the answers alone: the same function gives the same result.
#pragma once

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace hvsim::experiment {

struct fit_parameter {
  std::string name;
  double start = 0;
  double min = 0;
  double max = 1;    ///< more than min
  double grain = 0;  ///< values are whole multiples of it; 0: any value
};

using fit_point = std::vector<double>;

/// Thrown by the function to end the search, which then returns the best of what it knows.
class fit_stopped : public std::runtime_error {
 public:
  fit_stopped() : std::runtime_error("the fit was stopped") {}
};

/// The residuals of each point, in the order of the points; the sum of their squares is minimised.
/// Each point is asked for once.
using evaluate_points =
    std::function<std::vector<std::vector<double>>(const std::vector<fit_point>& points)>;

/// What the caller may watch.
struct fit_round {
  int round = 0;
  double cost = 0;
  std::size_t evaluations = 0;
  double step = 0;  ///< of the finite differences, as a share of each parameter's range
};

struct fit_options {
  int max_rounds = 60;
  double first_step = 0.02;  ///< share of the range
  double last_step = 1e-7;   ///< the search ends when its step falls below
  double tolerance = 1e-9;   ///< a round that gains less than this share shortens the step
  std::function<void(const fit_round&)> watch;
};

struct fit_result {
  fit_point values;
  std::vector<double> residuals;
  double start_cost = 0;  ///< sum of squares at the start values
  double cost = 0;        ///< sum of squares at `values`
  std::size_t evaluations = 0;
  int rounds = 0;
  bool stopped = false;               ///< the function threw fit_stopped
  std::vector<std::size_t> at_bound;  ///< parameters within 0.1 % of their range of a bound
};

/// Points that a round asks for at most, for that many parameters.
constexpr std::size_t most_points_of_round(std::size_t parameters) {
  return parameters + 5;
}

/// Throws std::invalid_argument if a range is empty or a start lies outside it. What `evaluate`
/// throws passes through, and so does fit_stopped if the start is not known.
fit_result least_squares(const std::vector<fit_parameter>& parameters,
                         const evaluate_points& evaluate, const fit_options& options = {});

}  // namespace hvsim::experiment
