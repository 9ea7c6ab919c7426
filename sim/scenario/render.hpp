// SPDX-License-Identifier: Apache-2.0
// Diagnostics as text.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/parse.hpp"

namespace hvsim::scenario {

enum class severity { error, warning };

/// "file:line:col: error: key.path: message" on one line, without a newline.
std::string to_line(const registry::diagnostic& d, severity how = severity::error);

/// The line form, then the source line and a caret under the column, when `sources` has the file.
/// With `color`, ANSI escapes as compilers use them. Ends in a newline.
std::string to_text(const registry::diagnostic& d, const source_texts& sources, bool color = false);

/// All of them, one after the other.
std::string to_text(const std::vector<registry::diagnostic>& all, const source_texts& sources,
                    bool color = false);

}  // namespace hvsim::scenario
