// SPDX-License-Identifier: Apache-2.0
// `--set a.b=value`. Used inside this room only.
#pragma once

#include <string>
#include <vector>

#include "sim/registry/node.hpp"
#include "sim/scenario/tree.hpp"

namespace hvsim::scenario {

/// Writes each "dotted.key=value" into `root`, left to right; the value is YAML text. What is
/// written this way has the position "--set".
void apply_sets(const std::vector<std::string>& sets, registry::node& root, sink& out);

}  // namespace hvsim::scenario
