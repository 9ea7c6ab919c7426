// SPDX-License-Identifier: Apache-2.0
// The recorded counts and faults of real kernels, and their comparison with a run.
#pragma once

#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/hypervisor/simulate.hpp"

namespace real {

using simulate::counts;
using phases = std::map<std::string, counts>;

/// Counts of one recorded run.
inline phases recorded(const std::string& kernel, const std::string& run) {
  std::ifstream file(HVSIM_SOURCE_DIR "/tests/hypervisor/real_counts.csv");
  phases out;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> f;
    std::stringstream fields(line);
    for (std::string field; std::getline(fields, field, ',');) f.push_back(field);
    if (f.size() == 5 && f[0] == kernel && f[1] == run) out[f[2]][f[3]] += std::stoull(f[4]);
  }
  if (out.empty()) throw std::runtime_error("no recording of " + kernel + " " + run);
  return out;
}

/// Adds the counts of phase `from` to phase `to`.
inline void merge(phases& p, const std::string& from, const std::string& to) {
  for (const auto& [kind, n] : p[from]) p[to][kind] += n;
  p.erase(from);
}

inline std::uint64_t count(const phases& p, const std::string& phase, const std::string& kind) {
  const auto at = p.find(phase);
  if (at == p.end()) return 0;
  const auto n = at->second.find(kind);
  return n == at->second.end() ? 0 : n->second;
}

/// One line for each (phase, kind) in which they differ: "dirty1 | event gup | real 3 model 4".
inline std::vector<std::string> differences(const phases& real, const phases& model) {
  std::vector<std::string> out;
  std::map<std::string, counts> kinds = real;
  for (const auto& [phase, c] : model)
    for (const auto& [kind, n] : c) kinds[phase][kind] = n;
  for (const auto& [phase, c] : kinds)
    for (const auto& [kind, unused] : c) {
      const std::uint64_t a = count(real, phase, kind);
      const std::uint64_t b = count(model, phase, kind);
      if (a != b)
        out.push_back(phase + " | " + kind + " | real " + std::to_string(a) + " model " +
                      std::to_string(b));
    }
  return out;
}

/// One recorded abort and its place in the stream.
struct fault {
  std::size_t position;
  std::uint64_t ipa, hsr, hxfar;
};

inline std::vector<fault> recorded_faults(const std::string& kernel) {
  std::ifstream file(HVSIM_SOURCE_DIR "/tests/hypervisor/faults_" + kernel + ".txt");
  std::vector<fault> out;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::stringstream fields(line);
    fault f{};
    fields >> f.position >> std::hex >> f.ipa >> f.hsr >> f.hxfar;
    if (!fields) throw std::runtime_error("bad line in the recorded faults: " + line);
    out.push_back(f);
  }
  return out;
}

}  // namespace real
