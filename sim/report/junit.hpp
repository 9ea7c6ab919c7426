// SPDX-License-Identifier: Apache-2.0
// JUnit XML, as CI systems read it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hvsim::report {

struct junit_case {
  enum class outcome { passed, failed, error };
  std::string classname;  ///< CI systems group by it; the scenario file
  std::string name;
  outcome result = outcome::passed;
  std::string message;  ///< why it failed; empty if it passed
};

/// One <testsuite> in a <testsuites>. No times and no dates: the same checks give the same bytes.
std::string to_junit(std::string_view suite, const std::vector<junit_case>& cases);

/// Text made safe for XML content and attributes; characters that XML 1.0 forbids become '?'.
std::string xml_escaped(std::string_view text);

}  // namespace hvsim::report
