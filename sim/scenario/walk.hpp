// SPDX-License-Identifier: Apache-2.0
// Parameter tables as a tree of keys, and YAML mappings checked against it. Used inside this room
// only.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/registry/parameter.hpp"
#include "sim/scenario/tree.hpp"
#include "sim/scenario/units.hpp"

namespace hvsim::scenario {

/// The keys of some tables. Holds pointers into them: the tables must outlive it.
class key_table {
 public:
  /// Throws std::logic_error if a table has a key twice, or as a value and as a mapping.
  void add(const std::vector<registry::parameter>& table);
  /// A key that the caller handles itself ("machine.profile"): known, but not a parameter.
  void add_plain(std::string key);
  [[nodiscard]] const registry::parameter* find(std::string_view key) const;
  [[nodiscard]] bool is_prefix(std::string_view key) const {
    return children_.find(key) != children_.end();
  }
  [[nodiscard]] bool known(std::string_view key) const { return names_.find(key) != names_.end(); }
  /// The names directly below a prefix ("" for the top), in the order of the tables.
  [[nodiscard]] const std::vector<std::string>& children(std::string_view prefix) const;
  [[nodiscard]] const std::vector<const registry::parameter*>& parameters() const {
    return parameters_;
  }
  /// A full key that ends in `.name`, for "belongs elsewhere" hints.
  [[nodiscard]] std::optional<std::string> elsewhere(std::string_view name) const;

 private:
  void link(const std::string& key);
  std::map<std::string, const registry::parameter*, std::less<>> names_;
  std::map<std::string, std::vector<std::string>, std::less<>> children_;
  std::vector<const registry::parameter*> parameters_;
};

/// "unknown key 'x'; did you mean 'y'? known: ..."; a long list is left out.
std::string unknown_key(std::string_view key, const std::vector<std::string>& known);

/// Checks the keys of `mapping` below `prefix` and calls `leaf` for each parameter or plain key
/// that is written, in file order. `hint` may add a sentence about an unknown key.
void walk(const registry::node& mapping, const std::string& prefix, const key_table& keys,
          const std::function<void(const std::string& key, const registry::position& where,
                                   const registry::node& value)>& leaf,
          sink& out, const std::function<std::string(const std::string& key)>& hint = nullptr);

/// A written value against its row, for every type but structure.
value_or_error<registry::value> convert(const registry::parameter& p, const registry::node& n);

}  // namespace hvsim::scenario
