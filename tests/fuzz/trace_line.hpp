// SPDX-License-Identifier: Apache-2.0
// What holds for a parsed line of either kind of trace.
#pragma once

#include "guest_workloads/trace_format.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace hvsim::fuzz {

/// A value or a complaint; a complaint is printable and its column lies in the line of `length`.
template <class T>
void require_sound(const workloads::parsed_line<T>& p, std::size_t length) {
  require(!p.value || p.error.empty());
  if (p.error.empty()) return;
  require(p.column >= 1 && static_cast<std::size_t>(p.column) <= length + 1);
  for (const char c : p.error) require(c >= 0x20 && c <= 0x7e);
}

}  // namespace hvsim::fuzz
