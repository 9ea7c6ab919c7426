// SPDX-License-Identifier: Apache-2.0
// Reads a mapping of a structured parameter against a small table of keys.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/registry/node.hpp"
#include "sim/registry/parameter.hpp"

namespace hvsim::workloads {

/// The values of one mapping. Complaints go to a list that must outlive it.
class stream_fields {
 public:
  /// Reads `written` against `table`, whose keys are plain names. Keys in `structures` are known,
  /// and left to the caller (`find`). A row without a default is required.
  stream_fields(const registry::node& written, std::string path,
                const std::vector<registry::parameter>& table,
                const std::vector<std::string>& structures, std::vector<registry::diagnostic>& out);

  /// Values by key, defaults filled in; a key whose value was wrong has its default, or none.
  registry::value_map values;
  /// Whether every value is there and valid.
  [[nodiscard]] bool ok() const { return ok_; }
  /// The value written under `key`, or nullptr.
  [[nodiscard]] const registry::node* find(std::string_view key) const;
  [[nodiscard]] bool written(std::string_view key) const { return find(key) != nullptr; }
  /// Complains about `key`, at its value or at the mapping when it was not written.
  void complain(std::string_view key, std::string message);

 private:
  void read(const registry::node& value, const registry::parameter& p);

  const registry::node& node_;
  std::string path_;
  std::vector<registry::diagnostic>& out_;
  bool ok_ = true;
};

/// "a mapping", "a list", "nothing" or the scalar in quotes.
std::string shape_of(const registry::node& n);

}  // namespace hvsim::workloads
