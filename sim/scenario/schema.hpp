// SPDX-License-Identifier: Apache-2.0
// What the tables say, for editors and for people.
#pragma once

#include <string>

#include "sim/registry/catalogue.hpp"

namespace hvsim::scenario {

/// JSON Schema (draft-07) of a scenario file, made from the tables. Ends in a newline.
std::string json_schema(const registry::catalogue& catalogue);

/// The reference page of scenarios (Markdown), made from the same tables. Ends in a newline.
std::string reference_markdown(const registry::catalogue& catalogue);

}  // namespace hvsim::scenario
