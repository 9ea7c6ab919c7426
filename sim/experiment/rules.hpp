// SPDX-License-Identifier: Apache-2.0
// Combinations of valid values that cannot be.
#pragma once

#include <vector>

#include "sim/scenario/scenario.hpp"

namespace hvsim::experiment {

/// Rules over the built-in parameters, for the parse functions. Each blames one key.
std::vector<scenario::rule> builtin_rules();

}  // namespace hvsim::experiment
