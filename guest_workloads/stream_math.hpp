// SPDX-License-Identifier: Apache-2.0
// Logarithm and exponential from the four operations of IEEE 754 alone.
//
// The C library's versions may differ in the last digit from system to system, and a draw that
// differs is another run. Pure functions, relative error below 1e-14 in the ranges stated.
#pragma once

namespace hvsim::workloads {

/// Natural logarithm; `x` positive and normal.
double portable_log(double x);

/// e to the `x`; `x` within +-700.
double portable_exp(double x);

/// log(1 + t) / t, 1 at t = 0; `t` above -1.
double log1p_over(double t);

/// (exp(t) - 1) / t, 1 at t = 0; `t` within +-700.
double expm1_over(double t);

}  // namespace hvsim::workloads
