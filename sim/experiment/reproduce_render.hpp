// SPDX-License-Identifier: Apache-2.0
// A reproduction as text, Markdown, CSV, JSON, plots and files. Pure functions but write_files.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "sim/experiment/reproduce.hpp"
#include "sim/report/svg.hpp"

namespace hvsim::experiment {

/// Every table with its errors, the speed-up, what limits each column, and the summary.
std::string to_text(const reproduction& r);
/// Short tables for a README.
std::string to_markdown(const reproduction& r);
/// Header and one row a finished cell of the first placement:
/// table,series,x,published,simulated,error_percent,role.
std::string to_csv(const reproduction& r);
/// One document with everything that to_text shows.
nlohmann::ordered_json to_json(const reproduction& r);
/// Simulated lines with published points over them, both axes logarithmic.
report::plot to_plot(const reproduction& r, const reproduced_table& t);

/// Writes into `dir`: NAME.txt, NAME.md, NAME.csv, NAME.json, runs.csv, runs/RUN.json, and a plot
/// TABLE.svg (TABLE.PLACEMENT.svg for all but the first placement). What did not finish is left
/// out. Throws report::output_error.
void write_files(const reproduction& r, const std::filesystem::path& dir);

}  // namespace hvsim::experiment
