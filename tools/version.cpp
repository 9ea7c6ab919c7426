// SPDX-License-Identifier: Apache-2.0
#include "tools/version.hpp"

namespace hvsim::tools {

std::string version_text() {
  return HVSIM_VERSION;
}
std::string git_text() {
  return HVSIM_GIT;
}
std::string compiler_text() {
  return HVSIM_COMPILER;
}
std::string build_type_text() {
  return HVSIM_BUILD_TYPE;
}

}  // namespace hvsim::tools
