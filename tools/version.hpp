// SPDX-License-Identifier: Apache-2.0
// What was built, and with what.
#pragma once

#include <string>

namespace hvsim::tools {

std::string version_text();     ///< "0.1.0"
std::string git_text();         ///< commit at configure time, or "unknown"
std::string compiler_text();    ///< "GNU 12.2.0"
std::string build_type_text();  ///< "Release"

}  // namespace hvsim::tools
