// SPDX-License-Identifier: Apache-2.0
// Combinations of valid values that cannot be.
#pragma once

#include <vector>

#include "sim/scenario/scenario.hpp"

namespace hvsim::experiment {

/// Rules over the built-in parameters, for the parse functions. Each blames one key.
std::vector<scenario::rule> builtin_rules();

/// What can be run and is probably not meant. For scenarios that parsed; `run` and `validate` show
/// the messages, and nothing else asks: a sweep may pass through such a combination.
std::vector<scenario::rule> builtin_warnings();

}  // namespace hvsim::experiment
