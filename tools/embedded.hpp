// SPDX-License-Identifier: Apache-2.0
// The files of configs/ inside the program, so that it needs none beside it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hvsim::tools {

struct embedded_file {
  std::string path;  ///< from the top of the repository: "configs/machines/unit.yaml"
  std::string text;
};

/// All of them, by path. Generated at build time.
const std::vector<embedded_file>& embedded_files();

/// The file with this path, or whose path below configs/ is `name`, with or without ".yaml"
/// ("examples/first", "configs/examples/first.yaml"); nullptr if there is none.
const embedded_file* find_embedded(std::string_view name);

}  // namespace hvsim::tools
