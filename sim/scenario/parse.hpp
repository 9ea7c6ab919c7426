// SPDX-License-Identifier: Apache-2.0
// YAML text to a checked scenario, or to every complaint about it at once.
//
// Nothing here throws on bad input or prints, and nothing but what streams gave is kept
// (input.hpp); call from any thread. Which keys exist, their types, units, ranges and choices come
// from the catalogue's tables alone.
//
// Who wins, weakest first: a parameter's default, the values of the kernel preset
// (`hypervisor.kernel`), the machine profile, the file, `--set` from left to right.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/registry/catalogue.hpp"
#include "sim/scenario/scenario.hpp"

namespace hvsim::scenario {

/// Limits that keep any input cheap to refuse.
inline constexpr std::size_t max_file_bytes = std::size_t{1} << 20;
inline constexpr int max_depth = 32;
inline constexpr std::size_t max_nodes = 100'000;  ///< after expansion of aliases
inline constexpr std::size_t max_diagnostics = 100;

/// Texts of the files that diagnostics point into, by the name in their position.
using source_texts = std::map<std::string, std::string, std::less<>>;

/// A result, or what is wrong.
template <class T>
struct parsed {
  std::optional<T> value;
  std::vector<registry::diagnostic> errors;  ///< by file, line, column; empty if `value` is set
  source_texts sources;
  bool unreadable = false;  ///< the input itself could not be read (missing, directory, rights)
  explicit operator bool() const { return value.has_value(); }
};

/// Parses the scenario in `path`. `sets` are "dotted.key=value" strings applied after the file;
/// what is wrong because of one stands at {"--set", 0, its number from 1}. `rules` come on top of
/// `generic_rules()`.
parsed<scenario> parse_file(const std::string& path, const registry::catalogue& catalogue,
                            const std::vector<std::string>& sets = {},
                            const std::vector<rule>& rules = {});

/// Parses `text`, which diagnostics call `filename`; relative machine paths start at its folder.
parsed<scenario> parse_text(std::string_view text, const std::string& filename,
                            const registry::catalogue& catalogue,
                            const std::vector<std::string>& sets = {},
                            const std::vector<rule>& rules = {});

/// Parses a machine profile alone (configs/machines/NAME.yaml).
parsed<machine_profile> parse_machine_text(std::string_view text, const std::string& filename,
                                           const registry::catalogue& catalogue);

/// As parse_machine_text, of the file in `path`.
parsed<machine_profile> parse_machine_file(const std::string& path,
                                           const registry::catalogue& catalogue);

/// Turns YAML text into a positioned tree without knowing any table. For owners of other file
/// kinds (published tables). The same limits and refusals hold as for scenarios.
parsed<registry::node> parse_tree(std::string_view text, const std::string& filename);

/// The keys at the top of a YAML text, each once, in spite of what is wrong elsewhere; none if the
/// text is no mapping or no YAML.
std::vector<std::string> top_keys(std::string_view text, const std::string& filename);

/// The bytes of a file or stream ("-": standard input), or why they cannot be read (missing,
/// directory, device, rights, more than `limit`).
parsed<std::string> read_text(const std::string& path, std::size_t limit = max_file_bytes);

/// Splits "dotted.key=value"; nullopt if there is no '=' or no key.
std::optional<std::pair<std::string, std::string>> split_set(std::string_view text);

/// The effective scenario as YAML that parses to the same scenario.
std::string to_yaml(const scenario& s);

}  // namespace hvsim::scenario
