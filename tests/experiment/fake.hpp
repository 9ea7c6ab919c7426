// SPDX-License-Identifier: Apache-2.0
// Scenarios and runs without a simulator: overrides go in as text, times come out by a formula.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "sim/experiment/source.hpp"

namespace hvsim::test {

/// Keeps the overrides as the scenario's texts; the file "missing.yaml" does not parse.
inline experiment::loader fake_loader(std::vector<scenario::expectation> expectations = {}) {
  return [expectations](const std::string& file, const std::vector<std::string>& sets) {
    if (file == "missing.yaml") throw experiment::config_error("missing.yaml:1:1: error: no");
    scenario::scenario s;
    s.name = "fake";
    s.file = file;
    s.expectations = expectations;
    s.texts["seed"] = "1";
    s.texts["vm.vcpus"] = "1";
    for (const std::string& set : sets)
      s.texts[set.substr(0, set.find('='))] = set.substr(set.find('=') + 1);
    return s;
  };
}

inline std::string text_at(const scenario::scenario& s, const std::string& key) {
  const auto it = s.texts.find(key);
  return it == s.texts.end() ? "" : it->second;
}

/// Runs by formula: `dirty` and `populate` in picoseconds from the scenario.
struct fake_runner {
  std::function<std::int64_t(const scenario::scenario&)> dirty;
  std::function<std::int64_t(const scenario::scenario&)> populate = [](const auto&) {
    return std::int64_t{1'000'000'000'000};
  };
  std::atomic<int>* runs = nullptr;

  report::run_result operator()(const scenario::scenario& s, const experiment::run_options&) const {
    if (runs != nullptr) ++*runs;
    report::run_result r;
    r.name = s.name;
    r.fingerprint = 0xabc;
    const engine::duration d{dirty(s)};
    const engine::duration p{populate(s)};
    r.times = {{"populate", "Populate memory time", p}, {"dirty2", "dirty", d}};
    r.phases = {{"populate", p, {{"fault", 5}}, {{"zero", p}}},
                {"dirty2", d, {{"fault", 512}}, {{"trap", d / 4}, {"lock_wait", d - d / 4}}}};
    r.total_time = p + d;
    r.threads = 1;
    r.faults = 517;
    r.breakdown = {{"zero", p}, {"trap", d / 4}, {"lock_wait", d - d / 4}};
    return r;
  }
};

}  // namespace hvsim::test
