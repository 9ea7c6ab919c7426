// SPDX-License-Identifier: Apache-2.0
// Machine profiles and the `machine:` key of a scenario. Used inside this room only.
#pragma once

#include <optional>
#include <string>

#include "sim/registry/catalogue.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/scenario/tree.hpp"

namespace hvsim::scenario {

/// Checks one profile's tree; complaints go to `out`, what is valid is in the result.
machine_profile read_profile(const registry::node& tree, const registry::catalogue& catalogue,
                             sink& out);

/// Resolves `machine:` into `s.machine`, `s.values` (machine.*), texts and positions.
/// `base` is the file name that relative profile paths start at.
void read_machine(const registry::node* machine, const std::string& base,
                  const registry::catalogue& catalogue, scenario& s, sink& out);

}  // namespace hvsim::scenario
