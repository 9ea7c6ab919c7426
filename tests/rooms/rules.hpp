// SPDX-License-Identifier: Apache-2.0
// The rules of the house, as functions of a file's path and text.
#pragma once

#include <algorithm>
#include <array>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace rooms {

struct room {
  std::string_view folder;
  int floor;  ///< a room includes itself and rooms on lower floors
  std::string_view name_space;
};

/// Bottom to top. Rooms on one floor do not know each other.
inline constexpr std::array house{
    room{"sim/engine", 0, "engine"},
    room{"sim/registry", 1, "registry"},
    room{"sim/machine", 2, "machine"},
    room{"sim/access", 3, "access"},
    room{"sim/check", 4, "check"},
    room{"sim/sched", 5, "sched"},
    room{"sim/sync", 6, "sync"},
    room{"mmu", 7, "mmu"},
    room{"vcpu", 8, "vcpu"},
    room{"sim/host", 9, "host"},
    room{"sim/hypervisor", 10, "hypervisor"},
    room{"sim/guest/locks", 11, "guest"},
    room{"sim/guest", 12, "guest"},
    room{"sim/scenario", 13, "scenario"},
    room{"guest_workloads", 14, "workloads"},
    room{"sim/report", 15, "report"},
    room{"sim/experiment", 16, "experiment"},
    room{"tools", 17, "tools"},
};

/// The room that a path from the top of the repository lies in, or nullptr.
inline const room* room_of(std::string_view path) {
  const std::string_view folder = path.substr(0, path.rfind('/'));
  const auto it =
      std::find_if(house.begin(), house.end(), [&](const room& r) { return r.folder == folder; });
  return it == house.end() ? nullptr : &*it;
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Everything that is wrong with a source file of a room. `path` starts at the top of the
/// repository and lies in a room.
inline std::vector<std::string> complaints(const std::string& path, const std::string& text) {
  std::vector<std::string> out;
  const room& here = *room_of(path);
  const std::vector<std::string> lines = lines_of(text);
  if (lines.empty() || lines[0] != "// SPDX-License-Identifier: Apache-2.0")
    out.push_back(path + ":1: the first line is not the licence");
  if (lines.size() > 500) out.push_back(path + ": more than 500 lines");
  static const std::regex include_line(R"re(^\s*#\s*include\s*"([^"]*)".*)re");
  static const std::regex namespace_line(R"(^\s*namespace hvsim(?:::([a-z_]+))?[a-z_:]*\s*\{.*)");
  static const std::regex terminal(
      R"(.*(std::(cout|cerr|exit|abort)\b|\b(printf|puts|_exit)\().*)");
  bool opened = false;
  bool only_includes = true;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string at = path + ":" + std::to_string(i + 1) + ": ";
    std::smatch m;
    if (!lines[i].empty() && lines[i][0] != '#' && !lines[i].starts_with("//"))
      only_includes = false;
    if (std::regex_match(lines[i], m, include_line)) {
      const std::string target = m[1];
      const room* there = room_of(target);
      if (there == nullptr)
        out.push_back(at + "\"" + target + "\" is not in a room");
      else if (there != &here && there->floor >= here.floor)
        out.push_back(at + std::string(here.folder) + " may not include " +
                      std::string(there->folder));
      else if (here.folder == "mmu" && there != &here && target != "sim/engine/units.hpp")
        out.push_back(at + "mmu knows the units of sim/engine and nothing else");
    } else if (std::regex_match(lines[i], m, namespace_line)) {
      opened = true;
      if (m[1].str() != here.name_space)
        out.push_back(at +
                      "namespace of another room; expected hvsim::" + std::string(here.name_space));
    } else if (here.folder != "tools" && std::regex_match(lines[i], terminal) &&
               lines[i].find("snprintf") == std::string::npos) {
      out.push_back(at + "only tools/ prints and exits");
    }
  }
  if (!opened && !only_includes && path != "tools/main.cpp")
    out.push_back(path + ": opens no namespace of its room");
  return out;
}

}  // namespace rooms
