// SPDX-License-Identifier: Apache-2.0
// The tables of every room, collected.
#pragma once

#include "sim/registry/catalogue.hpp"

namespace hvsim::experiment {

/// Every built-in parameter, workload and kernel preset. `machines` is left empty: who embeds or
/// finds profiles (the program, a test) fills it.
registry::catalogue builtin_catalogue();

}  // namespace hvsim::experiment
