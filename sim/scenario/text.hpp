// SPDX-License-Identifier: Apache-2.0
// Bytes to text: encoding, line ends, lines. Used inside this room only.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/scenario/tree.hpp"

namespace hvsim::scenario {

/// `raw` without a byte order mark and with LF line ends, or nullopt after a complaint (size,
/// not UTF-8, control characters).
std::optional<std::string> clean_text(std::string_view raw, const std::string& filename, sink& out);

/// The 1-based line of `text` without its end; empty when there is none.
std::string_view line_of(std::string_view text, int line);

}  // namespace hvsim::scenario
