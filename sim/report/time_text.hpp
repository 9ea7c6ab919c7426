// SPDX-License-Identifier: Apache-2.0
// Times and shares as decimal text, by integer arithmetic only.
//
// All functions are pure, do not look at the locale and may be called from any thread.
#pragma once

#include <cstdint>
#include <string>

#include "sim/engine/units.hpp"

namespace hvsim::report {

/// `time` in units of `unit` with `digits` decimals, rounded half away from zero: 1.2345 us in
/// us with 2 digits is "1.23". 10^digits must divide the unit's picoseconds (std::logic_error).
std::string time_in(engine::duration time, engine::duration unit, int digits);

/// Seconds with 9 decimals by default: "29.150000000". At most 12 (exact).
std::string seconds_text(engine::duration time, int digits = 9);

/// A time in the largest unit that does not make it less than one, as `perf lock contention`
/// prints it: "4.98 s", "1.67 ms", "45.86 us", "890 ns"; below a nanosecond "12 ps".
std::string scaled_text(engine::duration time);

/// 100 * part / whole with `digits` decimals (at most 6), rounded half up, without the percent
/// sign; "0.00" if the whole is 0. Both must be 0 or more.
std::string percent_text(std::int64_t part, std::int64_t whole, int digits = 2);

}  // namespace hvsim::report
