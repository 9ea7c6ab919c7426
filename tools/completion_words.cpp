// SPDX-License-Identifier: Apache-2.0
#include "tools/completion_words.hpp"

#include "tools/embedded.hpp"
#include "tools/experiments.hpp"

namespace hvsim::tools {
namespace {

/// CLI11 shows the words of CLI::IsMember as "...:{a,b,c}".
std::vector<std::string> members_of(const CLI::Option& option) {
  const std::string shown = option.get_type_name();
  const auto open = shown.find('{');
  if (open == std::string::npos) return {};
  return CLI::detail::split(shown.substr(open + 1, shown.find('}', open) - open - 1), ',');
}

std::vector<std::string> placement_names() {
  std::vector<std::string> out;
  for (const std::string& name : published_names())
    for (const std::string& p : load_published(name).placements)
      if (std::find(out.begin(), out.end(), p) == out.end()) out.push_back(p);
  return out;
}

/// The scenarios inside the program, as `run` takes them.
std::vector<std::string> scenario_names() {
  std::vector<std::string> out;
  for (const embedded_file& file : embedded_files()) {
    const std::string_view path = file.path;
    if (path.starts_with("configs/machines/")) continue;
    const auto name = path.substr(8, path.size() - 8 - 5);  // configs/NAME.yaml
    if (!path.starts_with("configs/published/") || path.starts_with("configs/published/scenarios/"))
      out.emplace_back(name);
  }
  return out;
}

option_words words_of(const CLI::Option& option) {
  option_words out;
  for (const auto& name : option.get_lnames()) out.names.push_back("--" + name);
  for (const auto& name : option.get_snames()) out.names.push_back("-" + name);
  out.help = option.get_description();
  out.values = members_of(option);
  if (option.check_lname("placement")) out.values = placement_names();
  out.takes_setting = option.check_lname("set") || option.check_lname("vary");
  return out;
}

std::vector<std::string> positionals_of(const CLI::App& command) {
  const std::string name = command.get_name();
  if (name == "reproduce" || name == "calibrate") return published_names();
  if (name == "run" || name == "compare" || name == "check" || name == "validate")
    return scenario_names();
  std::vector<std::string> out;
  for (const CLI::Option* option : command.get_options())
    if (option->get_positional())
      for (std::string& word : members_of(*option)) out.push_back(std::move(word));
  return out;
}

}  // namespace

std::vector<option_words> global_options(const CLI::App& app) {
  std::vector<option_words> out;
  for (const CLI::Option* option : app.get_options())
    if (option_words words = words_of(*option); !words.names.empty())
      out.push_back(std::move(words));
  return out;
}

std::vector<command_words> commands_of(const CLI::App& app) {
  std::vector<command_words> out;
  for (const auto* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    out.push_back(
        {sub->get_name(), sub->get_description(), global_options(*sub), positionals_of(*sub)});
  return out;
}

std::vector<std::pair<std::string, std::vector<std::string>>> settings_of(const context& ctx) {
  std::vector<std::pair<std::string, std::vector<std::string>>> out;
  std::vector<std::string> machines;
  for (const auto& [name, text] : ctx.catalogue.machines) machines.push_back(name);
  out.emplace_back("machine", std::move(machines));
  const auto add = [&](const std::vector<registry::parameter>& table) {
    for (const auto& p : table)
      if (p.type == registry::value_type::boolean)
        out.emplace_back(p.key, std::vector<std::string>{"true", "false"});
      else
        out.emplace_back(p.key, p.choices);
  };
  add(ctx.catalogue.common);
  for (const auto& w : ctx.catalogue.workloads)
    for (const auto& p : w.parameters)
      if (std::none_of(out.begin(), out.end(), [&](const auto& s) { return s.first == p.key; }))
        add({p});
  return out;
}

}  // namespace hvsim::tools
