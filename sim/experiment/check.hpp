// SPDX-License-Identifier: Apache-2.0
// Scenarios that say what they expect, and whether it came so.
#pragma once

#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/experiment/batch.hpp"
#include "sim/report/junit.hpp"

namespace hvsim::experiment {

/// One expectation of one file, evaluated.
struct check_row {
  enum class outcome {
    ok,
    miss,    ///< the run came out otherwise
    broken,  ///< nothing to compare: the run failed, or the selector names nothing
    stopped  ///< the run was interrupted
  };
  std::string file;
  std::string name;      ///< of the item
  std::string what;      ///< the figure it is about; empty if the file does not parse
  std::string expected;  ///< "2.5s +-2%", ">= 3", "== 512"
  std::string got;
  outcome result = outcome::ok;
  std::string message;         ///< why it is broken
  std::exception_ptr cause{};  ///< what broke it; null if it is not broken
};

struct check_report {
  std::vector<check_row> rows;  ///< by file, then item
  [[nodiscard]] bool ok() const;
  /// What broke the first broken row; null if none is broken.
  [[nodiscard]] std::exception_ptr cause() const;
};

/// Every .yaml and .yml file below a folder, sorted by path. Throws missing_input.
std::vector<std::string> yaml_files(const std::string& folder);

/// The scenario files that `paths` name, in order: for a directory every .yaml/.yml below it that
/// has a top-level `expect:` (or cannot be read as YAML), sorted by path; anything else as given,
/// for the loader. Throws missing_input for a folder that cannot be read.
std::vector<std::string> scenario_files(const std::vector<std::string>& paths);

/// Runs what the files' expectations need, each different run once, and evaluates them. A file
/// that does not parse is one broken row; a file without expectations has no rows.
check_report check(const std::vector<std::string>& files, const std::vector<std::string>& sets,
                   const loader& load, const runner& run, const pool_options& pool);

/// A table of all rows and a last line with the numbers.
std::string to_text(const check_report& r);
/// One document: `rows` as they are here, and `totals` by outcome.
nlohmann::ordered_json to_json(const check_report& r);
/// Header and one row an expectation: file,name,what,expected,actual,outcome,message.
std::string to_csv(const check_report& r);
std::vector<report::junit_case> to_junit_cases(const check_report& r);

}  // namespace hvsim::experiment
