// SPDX-License-Identifier: Apache-2.0
// What the completion scripts offer: the command tree, and the words that its options take.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/commands.hpp"

namespace hvsim::tools {

struct option_words {
  std::vector<std::string> names;  ///< "--format", "-o"
  std::string help;
  std::vector<std::string> values;  ///< what it takes; empty: anything, or nothing at all
  bool takes_setting = false;       ///< KEY=VALUE
};

struct command_words {
  std::string name;
  std::string help;
  std::vector<option_words> options;
  std::vector<std::string> positionals;  ///< besides files
};

/// The options before the subcommand.
std::vector<option_words> global_options(const CLI::App& app);
/// Every subcommand, in the order of the help.
std::vector<command_words> commands_of(const CLI::App& app);
/// Scenario keys that take one of a few words, with these words.
std::vector<std::pair<std::string, std::vector<std::string>>> settings_of(const context& ctx);

}  // namespace hvsim::tools
