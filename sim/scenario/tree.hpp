// SPDX-License-Identifier: Apache-2.0
// YAML text to positioned trees, under limits. Used inside this room only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/registry/node.hpp"
#include "sim/scenario/parse.hpp"

namespace hvsim::scenario {

/// Collects complaints up to `max_diagnostics`; what comes after is counted and mentioned.
class sink {
 public:
  void add(registry::position where, std::string path, std::string message);
  [[nodiscard]] bool empty() const { return errors_.empty(); }
  /// The complaints by position (file, line, column), stable; `--set` ones last.
  [[nodiscard]] std::vector<registry::diagnostic> take();
  source_texts sources;
  bool unreadable = false;

 private:
  std::vector<registry::diagnostic> errors_;
  std::size_t dropped_ = 0;
};

/// The bytes of `path` ("-": standard input), or nullopt after a complaint (missing, directory,
/// device, rights, too large).
std::optional<std::string> read_file(const std::string& path, sink& out,
                                     std::size_t limit = max_file_bytes);

/// The one document of `text`, or nullopt after a complaint. Duplicate keys are complained about
/// and dropped, so that callers see each key once. An empty text gives a null scalar.
std::optional<registry::node> load_tree(std::string_view text, const std::string& filename,
                                        sink& out);

/// The member of a mapping, or nullptr.
const registry::node* find(const registry::node& mapping, std::string_view key);

inline bool is_mapping(const registry::node& n) {
  return n.what == registry::node::kind::mapping;
}
inline bool is_sequence(const registry::node& n) {
  return n.what == registry::node::kind::sequence;
}
inline bool is_scalar(const registry::node& n) {
  return n.what == registry::node::kind::scalar;
}
inline bool is_null(const registry::node& n) {
  return is_scalar(n) && !n.quoted && n.scalar.empty();
}
/// "a mapping", "a list", "nothing" or the quoted scalar, for messages.
std::string shape(const registry::node& n);
/// A scalar as YAML text that reads back as the same text; in quotes if needed, or `always`.
std::string quote_scalar(std::string_view text, bool always = false);

inline std::string join(std::string_view prefix, std::string_view key) {
  return prefix.empty() ? std::string(key) : std::string(prefix) + "." + std::string(key);
}

}  // namespace hvsim::scenario
