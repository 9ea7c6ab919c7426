// SPDX-License-Identifier: Apache-2.0
// Rows of a workload's parameter table, by type.
#pragma once

#include "sim/registry/parameter.hpp"

namespace hvsim::workloads {

inline registry::parameter count_row(const char* key, const char* value, const char* help,
                                     double least, double most) {
  return {key, registry::value_type::integer, value, help, least, most, {}};
}

inline registry::parameter size_row(const char* key, const char* value, const char* help,
                                    double least, double most) {
  return {key, registry::value_type::size, value, help, least, most, {}};
}

/// From 0 to `most` picoseconds.
inline registry::parameter time_row(const char* key, const char* value, const char* help,
                                    double most) {
  return {key, registry::value_type::time, value, help, 0.0, most, {}};
}

}  // namespace hvsim::workloads
