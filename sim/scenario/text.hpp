// SPDX-License-Identifier: Apache-2.0
// Bytes to text: encoding, line ends, lines.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/scenario/tree.hpp"

namespace hvsim::scenario {

/// `raw` without a byte order mark and with LF line ends, or nullopt after a complaint (size,
/// not UTF-8, control characters).
std::optional<std::string> clean_text(std::string_view raw, const std::string& filename, sink& out);

/// `text` without the byte order mark that some editors put before UTF-8.
std::string_view without_bom(std::string_view text);

/// The complaint about a byte that is not UTF-8; `utf16_mark`: it starts a UTF-16 file.
std::string not_utf8(char byte, bool utf16_mark);

/// The 1-based line of `text` without its end; empty when there is none.
std::string_view line_of(std::string_view text, int line);

}  // namespace hvsim::scenario
