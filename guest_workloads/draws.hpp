// SPDX-License-Identifier: Apache-2.0
// Random durations of guest workloads.
#pragma once

#include <string>
#include <vector>

#include "sim/engine/random.hpp"
#include "sim/engine/units.hpp"

namespace hvsim::workloads {

/// A draw whose mean is `mean`, which is not negative.
using draw = engine::duration (*)(engine::random_stream&, engine::duration mean);

engine::duration constant_draw(engine::random_stream&, engine::duration mean);
/// From 0 to twice the mean.
engine::duration uniform_draw(engine::random_stream& r, engine::duration mean);
engine::duration exponential_draw(engine::random_stream& r, engine::duration mean);

/// Names that scenarios may use.
std::vector<std::string> draw_names();
/// Of a name among `draw_names`.
draw find_draw(const std::string& name);

}  // namespace hvsim::workloads
