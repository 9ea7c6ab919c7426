// SPDX-License-Identifier: Apache-2.0
#include "sim/report/junit.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hvsim::report {

std::string xml_escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
        out += "&#10;";
        break;
      case '\t':
        out += "&#9;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    }
  }
  return out;
}

std::string to_junit(std::string_view suite, const std::vector<junit_case>& cases) {
  using outcome = junit_case::outcome;
  const auto number_of = [&](outcome what) {
    return std::count_if(cases.begin(), cases.end(),
                         [&](const auto& c) { return c.result == what; });
  };
  const std::string totals =
      fmt::format("name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\"", xml_escaped(suite),
                  cases.size(), number_of(outcome::failed), number_of(outcome::error));
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  out += fmt::format("<testsuites {0}>\n  <testsuite {0} skipped=\"0\">\n", totals);
  for (const junit_case& c : cases) {
    out += fmt::format("    <testcase classname=\"{}\" name=\"{}\"", xml_escaped(c.classname),
                       xml_escaped(c.name));
    if (c.result == outcome::passed) {
      out += "/>\n";
      continue;
    }
    const bool failed = c.result == outcome::failed;
    out += fmt::format(">\n      <{} type=\"{}\" message=\"{}\"/>\n    </testcase>\n",
                       failed ? "failure" : "error", failed ? "expectation" : "run",
                       xml_escaped(c.message));
  }
  return out + "  </testsuite>\n</testsuites>\n";
}

}  // namespace hvsim::report
