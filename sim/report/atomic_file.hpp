// SPDX-License-Identifier: Apache-2.0
// Files that are whole or absent.
#pragma once

#include <filesystem>
#include <string_view>

namespace hvsim::report {

/// Writes `content` beside `path` under a temporary name and renames it, so that a reader sees
/// the old file or the new one. Creates missing directories. Throws output_error with the file and
/// the reason. Different threads may write different files at the same time.
void write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace hvsim::report
