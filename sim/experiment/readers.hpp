// SPDX-License-Identifier: Apache-2.0
// When the parameters of the built-in catalogue are read.
#pragma once

#include "sim/registry/catalogue.hpp"

namespace hvsim::experiment {

/// Fills in `read_when` of the catalogue's parameters. Throws std::logic_error if a rule is about a
/// key that the catalogue does not have.
void state_readers(registry::catalogue& c);

}  // namespace hvsim::experiment
