// SPDX-License-Identifier: Apache-2.0
// Runs scenarios with the machine profiles of configs/ and prints their results without
// provenance: the part of hvsim that decides results, quick to build with other compilers.
//   hvsim_run_scenario CONFIGS SCENARIO [KEY=VALUE...]
#include <algorithm>
#include <exception>
#include <filesystem>
#include <iostream>

#include "sim/experiment/catalogue.hpp"
#include "sim/experiment/run.hpp"
#include "sim/report/render.hpp"
#include "sim/scenario/parse.hpp"
#include "sim/scenario/render.hpp"

int main(int argc, char** argv) {
  using namespace hvsim;
  namespace fs = std::filesystem;
  if (argc < 3) {
    std::cerr << "usage: hvsim_run_scenario CONFIGS SCENARIO [KEY=VALUE...]\n";
    return 2;
  }
  try {
    registry::catalogue catalogue = experiment::builtin_catalogue();
    for (const auto& entry : fs::directory_iterator(fs::path(argv[1]) / "machines")) {
      const auto text = scenario::read_text(entry.path().string());
      if (text) catalogue.machines.emplace_back(entry.path().stem().string(), *text.value);
    }
    std::sort(catalogue.machines.begin(), catalogue.machines.end());
    const auto parsed = scenario::parse_file(argv[2], catalogue, {argv + 3, argv + argc});
    if (!parsed) {
      std::cerr << scenario::to_text(parsed.errors, parsed.sources, false);
      return 1;
    }
    auto document = report::to_json(experiment::run(*parsed.value));
    document.erase("provenance");
    std::cout << document.dump(2) << "\n";
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
  return std::cout.flush() ? 0 : 1;
}
