// SPDX-License-Identifier: Apache-2.0
// Keys that somebody wrote and no run of the scenario reads.
#pragma once

#include <vector>

#include "sim/registry/catalogue.hpp"
#include "sim/scenario/scenario.hpp"

namespace hvsim::scenario {

/// One for each parameter that the file or an override sets although its table's `read_when` does
/// not hold, in the order of the tables: "has no effect because ...". Values that nobody wrote are
/// not looked at. A pure function; call from any thread.
std::vector<registry::diagnostic> unread_keys(const scenario& s,
                                              const registry::catalogue& catalogue);

}  // namespace hvsim::scenario
