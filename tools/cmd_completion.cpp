// SPDX-License-Identifier: Apache-2.0
// hvsim completion bash|zsh|fish: scripts made by walking the command tree.
#include <fmt/format.h>

#include <memory>

#include "tools/commands.hpp"

namespace hvsim::tools {
namespace {

struct command_words {
  std::string name;
  std::string help;
  std::vector<std::pair<std::string, std::string>> options;  // "--format", help
};

std::vector<std::pair<std::string, std::string>> options_of(const CLI::App& app) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto* option : app.get_options()) {
    for (const auto& name : option->get_lnames())
      out.emplace_back("--" + name, option->get_description());
    for (const auto& name : option->get_snames())
      out.emplace_back("-" + name, option->get_description());
  }
  return out;
}

std::vector<command_words> commands_of(const CLI::App& app) {
  std::vector<command_words> out;
  for (const auto* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    out.push_back({sub->get_name(), sub->get_description(), options_of(*sub)});
  return out;
}

// First words that a positional takes; files are completed otherwise.
std::string positional_words(const std::string& command) {
  if (command == "list") return "configs machines parameters presets switches workloads";
  if (command == "completion") return "bash zsh fish";
  return {};
}

std::string words_of(const command_words& c,
                     const std::vector<std::pair<std::string, std::string>>& global) {
  std::string out = positional_words(c.name);
  for (const auto* list : {&c.options, &global})
    for (const auto& [name, help] : *list) {
      if (!out.empty()) out += ' ';
      out += name;
    }
  return out;
}

std::string escaped(const std::string& text, std::string_view special) {
  std::string out;
  for (char c : text) {
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string bash_script(const CLI::App& app) {
  auto commands = commands_of(app);
  auto global = options_of(app);
  std::string names;
  std::string cases;
  for (const auto& c : commands) {
    names += (names.empty() ? "" : " ") + c.name;
    cases += fmt::format("    {}) words=\"{}\" ;;\n", c.name, words_of(c, global));
  }
  return fmt::format(R"(_hvsim() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" command="" words="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${{COMP_WORDS[i]}}" in
      -*) ;;
      *) command="${{COMP_WORDS[i]}}"; break ;;
    esac
  done
  case "$command" in
    "") words="{}" ;;
{}  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [ ${{#COMPREPLY[@]}} -gt 0 ] || COMPREPLY=($(compgen -f -- "$current"))
}}
complete -o filenames -F _hvsim hvsim
)",
                     names, cases);
}

std::string zsh_script(const CLI::App& app) {
  auto global = options_of(app);
  std::string names;
  std::string cases;
  for (const auto& c : commands_of(app)) {
    names += fmt::format("    '{}:{}'\n", c.name, escaped(c.help, ":"));
    cases += fmt::format("    {}) compadd -- {}; _files ;;\n", c.name, words_of(c, global));
  }
  return fmt::format(R"(#compdef hvsim
_hvsim() {{
  local -a commands
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case "${{words[2]}}" in
{}  esac
}}
compdef _hvsim hvsim
)",
                     names, cases);
}

std::string fish_script(const CLI::App& app) {
  std::string out;
  auto option = [&](const std::string& condition, const std::string& name,
                    const std::string& help) {
    bool is_long = name.starts_with("--");
    out += fmt::format("complete -c hvsim {} {} {} -d '{}'\n", condition, is_long ? "-l" : "-s",
                       name.substr(is_long ? 2 : 1), escaped(help, "'\\"));
  };
  for (const auto& [name, help] : options_of(app)) option("", name, help);
  for (const auto& c : commands_of(app)) {
    out += fmt::format("complete -c hvsim -n __fish_use_subcommand -a {} -d '{}'\n", c.name,
                       escaped(c.help, "'\\"));
    std::string condition = "-n '__fish_seen_subcommand_from " + c.name + "'";
    for (const auto& [name, help] : c.options) option(condition, name, help);
    if (auto words = positional_words(c.name); !words.empty())
      out += fmt::format("complete -c hvsim {} -a '{}'\n", condition, words);
  }
  return out;
}

}  // namespace

void add_completion(CLI::App& app, context& ctx) {
  auto shell = std::make_shared<std::string>();
  auto* sub = app.add_subcommand("completion", "print a completion script for a shell");
  sub->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  sub->callback([&ctx, &app, shell] {
    ctx.action = [&app, shell]() -> int {
      std::string text;
      if (*shell == "bash") text = bash_script(app);
      if (*shell == "zsh") text = zsh_script(app);
      if (*shell == "fish") text = fish_script(app);
      write_stdout(text);
      return exit_ok;
    };
  });
}

}  // namespace hvsim::tools
