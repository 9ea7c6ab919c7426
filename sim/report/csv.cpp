// SPDX-License-Identifier: Apache-2.0
#include "sim/report/metrics.hpp"
#include "sim/report/render.hpp"
#include "sim/report/table.hpp"

namespace hvsim::report {

std::string csv_header() {
  return "run,path,value,unit\n";
}

std::string to_csv(const run_result& result, const std::string& run) {
  std::string out;
  for (const metric& m : metrics(result))
    out += csv_line({run, m.path, value_text(m), std::string(unit_text(m.unit))});
  return out;
}

}  // namespace hvsim::report
