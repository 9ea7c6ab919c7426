// SPDX-License-Identifier: Apache-2.0
// hvsim completion bash|zsh|fish: scripts made by walking the command tree.
#include <fmt/format.h>

#include <memory>

#include "tools/completion_words.hpp"

namespace hvsim::tools {
namespace {

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

std::string escaped(const std::string& text, std::string_view special) {
  std::string out;
  for (char c : text) {
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::vector<std::string> names_of(const std::vector<option_words>& options) {
  std::vector<std::string> out;
  for (const option_words& o : options) out.insert(out.end(), o.names.begin(), o.names.end());
  return out;
}

std::vector<std::string> first_words(const command_words& c,
                                     const std::vector<option_words>& global) {
  std::vector<std::string> out = c.positionals;
  for (const auto* list : {&c.options, &global})
    for (std::string& name : names_of(*list)) out.push_back(std::move(name));
  return out;
}

/// A branch of a shell's `case "$command $previous"` for each option that takes words.
std::string value_cases(const std::string& command, const std::vector<option_words>& options,
                        const char* form) {
  std::string out;
  for (const option_words& o : options)
    for (const std::string& name : o.names)
      if (!o.values.empty())
        out += fmt::format(fmt::runtime(form), command, name, joined(o.values));
  return out;
}

// Bash cuts words at '=', so KEY=VALUE arrives in three pieces.
constexpr const char* bash_text = R"(_hvsim() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}"
  local command="" words="" key="" done_before="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${{COMP_WORDS[i]}}" in
      --progress|--color) i=$((i + 1)) ;;
      -*) ;;
      *) command="${{COMP_WORDS[i]}}"; break ;;
    esac
  done
  if [ "$current" = "=" ]; then
    key="$previous"; current=""
  elif [ "$previous" = "=" ]; then
    key="${{COMP_WORDS[COMP_CWORD-2]}}"
  fi
  if [ -n "$key" ]; then
    if [[ "$current" == *,* ]]; then done_before="${{current%,*}},"; current="${{current##*,}}"; fi
    case "$key" in
{keys}      *) return ;;
    esac
    COMPREPLY=($(compgen -P "$done_before" -W "$words" -- "$current"))
    return
  fi
  case "$command $previous" in
{values}    *" --set"|*" --vary")
      COMPREPLY=($(compgen -S = -W "{settings}" -- "$current"))
      compopt -o nospace
      return ;;
  esac
  if [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    return
  fi
  case "$command" in
    "") words="{commands}" ;;
{firsts}  esac
  COMPREPLY=($(compgen -W "$words" -- "$current") $(compgen -f -- "$current"))
}}
complete -o filenames -F _hvsim hvsim
)";

std::string bash_script(const CLI::App& app, const context& ctx) {
  const auto global = global_options(app);
  std::vector<std::string> commands;
  std::string firsts;
  std::string values = value_cases("*", global, "    {}\" {}\") words=\"{}\" ;;\n");
  for (const command_words& c : commands_of(app)) {
    commands.push_back(c.name);
    firsts += fmt::format("    {}) words=\"{}\" ;;\n", c.name, joined(first_words(c, global)));
    values += value_cases(c.name, c.options, "    \"{} {}\") words=\"{}\" ;;\n");
  }
  std::vector<std::string> settings;
  std::string keys;
  for (const auto& [key, words] : settings_of(ctx)) {
    settings.push_back(key);
    if (!words.empty()) keys += fmt::format("      {}) words=\"{}\" ;;\n", key, joined(words));
  }
  for (std::string& name : names_of(global)) commands.push_back(std::move(name));
  return fmt::format(bash_text, fmt::arg("keys", keys), fmt::arg("values", values),
                     fmt::arg("settings", joined(settings)), fmt::arg("commands", joined(commands)),
                     fmt::arg("firsts", firsts));
}

constexpr const char* zsh_text = R"(#compdef hvsim
_hvsim() {{
  local -a commands
  commands=(
{names}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case "${{words[2]}} ${{words[CURRENT-1]}}" in
{values}    *" --set"|*" --vary") compadd -S = -- {settings}; return ;;
  esac
  case "${{words[2]}}" in
{firsts}  esac
}}
compdef _hvsim hvsim
)";

std::string zsh_script(const CLI::App& app, const context& ctx) {
  const auto global = global_options(app);
  std::string names;
  std::string firsts;
  std::string values;
  for (const command_words& c : commands_of(app)) {
    names += fmt::format("    '{}:{}'\n", c.name, escaped(c.help, ":"));
    firsts +=
        fmt::format("    {}) compadd -- {}; _files ;;\n", c.name, joined(first_words(c, global)));
    values += value_cases(c.name, c.options, "    \"{} {}\") compadd -- {}; return ;;\n");
  }
  std::vector<std::string> settings;
  for (const auto& [key, words] : settings_of(ctx)) settings.push_back(key);
  return fmt::format(zsh_text, fmt::arg("names", names), fmt::arg("values", values),
                     fmt::arg("settings", joined(settings)), fmt::arg("firsts", firsts));
}

std::string fish_options(const std::string& condition, const std::vector<option_words>& options) {
  std::string out;
  for (const option_words& o : options)
    for (const std::string& name : o.names) {
      const bool is_long = name.starts_with("--");
      out += fmt::format("complete -c hvsim {} {} {} -d '{}'", condition, is_long ? "-l" : "-s",
                         name.substr(is_long ? 2 : 1), escaped(o.help, "'\\"));
      if (!o.values.empty()) out += fmt::format(" -x -a '{}'", joined(o.values));
      out += '\n';
    }
  return out;
}

std::string fish_script(const CLI::App& app, const context& ctx) {
  std::string out = fish_options("", global_options(app));
  std::vector<std::string> settings;
  for (const auto& [key, words] : settings_of(ctx)) {
    if (words.empty()) settings.push_back(key + "=");
    for (const std::string& word : words) settings.push_back(key + "=" + word);
  }
  for (command_words c : commands_of(app)) {
    out += fmt::format("complete -c hvsim -n __fish_use_subcommand -a {} -d '{}'\n", c.name,
                       escaped(c.help, "'\\"));
    for (option_words& o : c.options)
      if (o.takes_setting) o.values = settings;
    const std::string condition = "-n '__fish_seen_subcommand_from " + c.name + "'";
    out += fish_options(condition, c.options);
    if (!c.positionals.empty())
      out += fmt::format("complete -c hvsim {} -a '{}'\n", condition, joined(c.positionals));
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
    ctx.action = [&app, &ctx, shell]() -> int {
      write_stdout(*shell == "bash"  ? bash_script(app, ctx)
                   : *shell == "zsh" ? zsh_script(app, ctx)
                                     : fish_script(app, ctx));
      return exit_ok;
    };
  });
}

}  // namespace hvsim::tools
