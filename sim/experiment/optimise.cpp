// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/optimise.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <stdexcept>

namespace hvsim::experiment {
namespace {

using matrix = std::vector<std::vector<double>>;

double sum_of_squares(const std::vector<double>& r) {
  double out = 0;
  for (double v : r) out += v * v;
  return out;
}

/// Gaussian elimination with partial pivoting; nothing if the matrix is singular.
std::optional<std::vector<double>> solve(matrix a, std::vector<double> b) {
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < n; ++i)
      if (std::fabs(a[i][k]) > std::fabs(a[pivot][k])) pivot = i;
    if (!(std::fabs(a[pivot][k]) > 0)) return std::nullopt;
    std::swap(a[k], a[pivot]);
    std::swap(b[k], b[pivot]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const double f = a[i][k] / a[k][k];
      for (std::size_t j = k; j < n; ++j) a[i][j] -= f * a[k][j];
      b[i] -= f * b[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) b[k] -= a[k][j] * b[j];
    b[k] /= a[k][k];
  }
  return b;
}

/// Normal equations at one point, in units of each parameter's range.
struct model {
  matrix squares;                ///< J^T J
  std::vector<double> gradient;  ///< J^T r
};

class search {
 public:
  search(const std::vector<fit_parameter>& parameters, const evaluate_points& evaluate,
         const fit_options& options)
      : parameters_(parameters), evaluate_(evaluate), options_(options) {
    for (const fit_parameter& p : parameters_)
      if (!(p.min < p.max) || p.start < p.min || p.start > p.max)
        throw std::invalid_argument("least_squares: " + p.name + " starts outside its bounds");
  }

  fit_result run() {
    fit_result out;
    for (const fit_parameter& p : parameters_) at_.push_back(p.start);
    residuals_ = ask({at_}).front();
    cost_ = out.start_cost = sum_of_squares(residuals_);
    step_ = options_.first_step;
    while (out.rounds < options_.max_rounds && step_ >= options_.last_step && cost_ > 0) {
      ++out.rounds;
      const double before = cost_;
      try {
        round();
      } catch (const fit_stopped&) {
        --out.rounds;
        out.stopped = true;
        break;
      }
      if (!(before - cost_ > options_.tolerance * before)) step_ /= 4;
      if (options_.watch) options_.watch({out.rounds, cost_, memory_.size(), step_});
    }
    out.values = at_;
    out.residuals = residuals_;
    out.cost = cost_;
    out.evaluations = memory_.size();
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const fit_parameter& p = parameters_[i];
      const double margin = (p.max - p.min) / 1000;
      if (at_[i] <= p.min + margin || at_[i] >= p.max - margin) out.at_bound.push_back(i);
    }
    return out;
  }

 private:
  [[nodiscard]] double range(std::size_t i) const {
    return parameters_[i].max - parameters_[i].min;
  }

  /// The nearest allowed value of a parameter.
  [[nodiscard]] double allowed(std::size_t i, double v) const {
    const fit_parameter& p = parameters_[i];
    if (p.grain > 0) v = std::round(v / p.grain) * p.grain;
    return std::clamp(v, p.min, p.max);
  }

  std::vector<std::vector<double>> ask(const std::vector<fit_point>& points) {
    std::vector<fit_point> fresh;
    for (const fit_point& p : points)
      if (memory_.find(p) == memory_.end() &&
          std::find(fresh.begin(), fresh.end(), p) == fresh.end())
        fresh.push_back(p);
    if (!fresh.empty()) {
      std::vector<std::vector<double>> answers = evaluate_(fresh);
      if (answers.size() != fresh.size())
        throw std::logic_error("least_squares: not an answer for each point");
      for (std::size_t i = 0; i < fresh.size(); ++i)
        memory_.emplace(fresh[i], std::move(answers[i]));
    }
    std::vector<std::vector<double>> out;
    for (const fit_point& p : points) out.push_back(memory_.at(p));
    return out;
  }

  /// Moves to the point if it is better than the present one.
  bool take(const fit_point& point, const std::vector<double>& residuals) {
    const double cost = sum_of_squares(residuals);
    if (!(cost < cost_)) return false;
    at_ = point;
    residuals_ = residuals;
    cost_ = cost;
    return true;
  }

  void round() {
    const fit_point origin = at_;
    std::vector<fit_point> probes;
    for (std::size_t i = 0; i < origin.size(); ++i) {
      const double h = std::max(step_ * range(i), parameters_[i].grain);
      fit_point p = origin;
      p[i] = allowed(i, origin[i] + h <= parameters_[i].max ? origin[i] + h : origin[i] - h);
      probes.push_back(std::move(p));
    }
    const auto answers = ask(probes);
    const model m = linearise(origin, probes, answers);
    std::vector<fit_point> candidates;
    for (double damping : {damping_ / 100, damping_ / 10, damping_, damping_ * 10, damping_ * 100})
      candidates.push_back(stepped(origin, m, damping));
    const auto take_probes = [&] {
      for (std::size_t i = 0; i < probes.size(); ++i) take(probes[i], answers[i]);
    };
    std::vector<std::vector<double>> costs;
    try {
      costs = ask(candidates);
    } catch (const fit_stopped&) {
      take_probes();
      throw;
    }
    static constexpr double factor[] = {0.01, 0.1, 1, 10, 100};
    double chosen = 10;
    for (std::size_t c = 0; c < candidates.size(); ++c)
      if (take(candidates[c], costs[c])) chosen = factor[c];
    take_probes();
    damping_ = std::clamp(damping_ * chosen, 1e-9, 1e6);
  }

  [[nodiscard]] model linearise(const fit_point& origin, const std::vector<fit_point>& probes,
                                const std::vector<std::vector<double>>& answers) const {
    const std::size_t n = origin.size();
    matrix columns(n, std::vector<double>(residuals_.size(), 0.0));
    for (std::size_t i = 0; i < n; ++i) {
      const double share = (probes[i][i] - origin[i]) / range(i);
      if (!(std::fabs(share) > 0)) continue;
      for (std::size_t k = 0; k < residuals_.size(); ++k)
        columns[i][k] = (answers[i][k] - residuals_[k]) / share;
    }
    model m{matrix(n, std::vector<double>(n, 0.0)), std::vector<double>(n, 0.0)};
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < residuals_.size(); ++k)
        m.gradient[i] += columns[i][k] * residuals_[k];
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t k = 0; k < residuals_.size(); ++k)
          m.squares[i][j] += columns[i][k] * columns[j][k];
    }
    return m;
  }

  /// The damped step from `origin`. A parameter that would leave its range stops at the bound, and
  /// the others are solved for again.
  [[nodiscard]] fit_point stepped(const fit_point& origin, const model& m, double damping) const {
    const std::size_t n = origin.size();
    std::vector<std::optional<double>> fixed(n);
    std::vector<double> move(n, 0.0);
    for (std::size_t pass = 0; pass <= n; ++pass) {
      std::vector<std::size_t> open;
      for (std::size_t i = 0; i < n; ++i)
        if (!fixed[i]) open.push_back(i);
      matrix a(open.size(), std::vector<double>(open.size(), 0.0));
      std::vector<double> b(open.size(), 0.0);
      for (std::size_t r = 0; r < open.size(); ++r) {
        for (std::size_t c = 0; c < open.size(); ++c) a[r][c] = m.squares[open[r]][open[c]];
        a[r][r] += damping * m.squares[open[r]][open[r]] + 1e-12;
        b[r] = -m.gradient[open[r]];
        for (std::size_t i = 0; i < n; ++i)
          if (fixed[i]) b[r] -= m.squares[open[r]][i] * *fixed[i];
      }
      const auto solution = solve(std::move(a), std::move(b));
      if (!solution) break;
      for (std::size_t r = 0; r < open.size(); ++r) move[open[r]] = (*solution)[r];
      bool again = false;
      for (std::size_t i : open) {
        const double low = (parameters_[i].min - origin[i]) / range(i);
        const double high = (parameters_[i].max - origin[i]) / range(i);
        if (move[i] >= low && move[i] <= high) continue;
        fixed[i] = move[i] = std::clamp(move[i], low, high);
        again = true;
      }
      if (!again) break;
    }
    fit_point out = origin;
    for (std::size_t i = 0; i < n; ++i) out[i] = allowed(i, origin[i] + move[i] * range(i));
    return out;
  }

  const std::vector<fit_parameter>& parameters_;
  const evaluate_points& evaluate_;
  const fit_options& options_;
  std::map<fit_point, std::vector<double>> memory_;
  fit_point at_;
  std::vector<double> residuals_;
  double cost_ = 0;
  double step_ = 0;
  double damping_ = 1e-3;
};

}  // namespace

fit_result least_squares(const std::vector<fit_parameter>& parameters,
                         const evaluate_points& evaluate, const fit_options& options) {
  return search(parameters, evaluate, options).run();
}

}  // namespace hvsim::experiment
