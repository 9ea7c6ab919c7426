// SPDX-License-Identifier: Apache-2.0
// A small positioned tree: what a structured parameter looks like to its owner.
//
// The scenario parser turns YAML into these so that rooms below it can read nested values and
// still report file, line and column. Plain values.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace hvsim::registry {

/// 1-based position in a file; line 0 means that the value did not come from a file.
struct position {
  std::string file;
  int line = 0;
  int column = 0;
};

struct node {
  enum class kind { scalar, sequence, mapping };
  kind what = kind::scalar;
  std::string scalar;       ///< for kind::scalar
  std::vector<node> items;  ///< for kind::sequence
  struct member;
  std::vector<member> members;  ///< for kind::mapping
  position where;
  bool quoted = false;  ///< a scalar in quotes or a block: text, never a number or a null
};

/// One entry of a mapping: a scalar key and its value.
struct node::member {
  member(node k, node v) : first(std::move(k)), second(std::move(v)) {}
  node first;
  node second;
};

/// One complaint about a scenario, in the form users see: file:line:col: path: message.
struct diagnostic {
  position where;
  std::string path;     ///< dotted key path, may be empty
  std::string message;  ///< what is wrong, what was expected, and a suggestion where there is one
};

}  // namespace hvsim::registry
