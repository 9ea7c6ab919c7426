// SPDX-License-Identifier: Apache-2.0
#include "tools/embedded.hpp"

namespace hvsim::tools {

const embedded_file* find_embedded(std::string_view name) {
  constexpr std::string_view folder = "configs/";
  constexpr std::string_view ending = ".yaml";
  auto bare = [&](std::string_view path) {
    if (path.starts_with(folder)) path.remove_prefix(folder.size());
    if (path.ends_with(ending)) path.remove_suffix(ending.size());
    return path;
  };
  for (const auto& file : embedded_files())
    if (bare(file.path) == bare(name)) return &file;
  return nullptr;
}

}  // namespace hvsim::tools
