// SPDX-License-Identifier: Apache-2.0
// flannelctl completion: scripts generated from the table of verbs and their parsers.
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/cli/flannelctl.h"
#include "control/cli/parser.h"
#include "control/cli/verbs.h"

namespace weft::cli {
namespace {

std::string VerbNames() {
  std::string names = "help";
  for (const Verb& verb : kVerbs) absl::StrAppend(&names, " ", verb.name);
  return names;
}

// "--output -o --watch -w", without positional arguments; a verb's own verbs with theirs.
void AppendOptionNames(const CLI::App& parser, std::vector<std::string>& names) {
  for (const CLI::Option* option : parser.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  for (const CLI::App* sub : parser.get_subcommands({})) {
    names.push_back(sub->get_name());
    AppendOptionNames(*sub, names);
  }
}

std::string OptionNames(const Verb& verb) {
  const PreparedVerb prepared = Prepare(verb);
  std::vector<std::string> names;
  AppendOptionNames(*prepared.parser, names);
  return absl::StrJoin(names, " ");
}

// File names complete everywhere: --from and --capture accept them.
std::string Bash() {
  std::string text = absl::StrCat(
      "_flannelctl() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]}\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W \"",
      VerbNames(),
      "\" -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case ${COMP_WORDS[1]} in\n");
  for (const Verb& verb : kVerbs) {
    absl::StrAppend(&text, "    ", verb.name, ") COMPREPLY=($(compgen -f -W \"", OptionNames(verb),
                    "\" -- \"$word\")) ;;\n");
  }
  return absl::StrCat(text, "    help) COMPREPLY=($(compgen -W \"", VerbNames(),
                      "\" -- \"$word\")) ;;\n  esac\n}\ncomplete -F _flannelctl flannelctl\n");
}

// zsh runs bash's completions.
std::string Zsh() {
  return absl::StrCat("#compdef flannelctl\nautoload -U +X bashcompinit && bashcompinit\n", Bash());
}

std::string Fish() {
  std::string text;
  for (const Verb& verb : kVerbs) {
    absl::StrAppend(&text, "complete -c flannelctl -f -n __fish_use_subcommand -a ", verb.name,
                    " -d \"", verb.summary, "\"\n");
    const PreparedVerb prepared = Prepare(verb);
    for (const CLI::Option* option : std::as_const(*prepared.parser).get_options()) {
      if (option->get_lnames().empty()) continue;
      absl::StrAppend(&text, "complete -c flannelctl -n \"__fish_seen_subcommand_from ", verb.name,
                      "\" -l ", option->get_lnames().front());
      if (!option->get_snames().empty())
        absl::StrAppend(&text, " -s ", option->get_snames().front());
      absl::StrAppend(&text, option->get_items_expected_max() > 0 ? " -r" : "", "\n");
    }
  }
  return text;
}

std::string PowerShell() {
  std::string text =
      "Register-ArgumentCompleter -Native -CommandName flannelctl -ScriptBlock {\n"
      "  param($word, $line, $position)\n"
      "  $options = @{\n";
  for (const Verb& verb : kVerbs)
    absl::StrAppend(&text, "    '", verb.name, "' = '", OptionNames(verb), "'\n");
  return absl::StrCat(text,
                      "  }\n"
                      "  $words = @($line.CommandElements | ForEach-Object { $_.ToString() })\n"
                      "  $verb = if ($words.Count -gt 1) { $words[1] } else { '' }\n"
                      "  $names = if ($options.ContainsKey($verb)) { $options[$verb] } else { '",
                      VerbNames(),
                      "' }\n"
                      "  $names -split ' ' | Where-Object { $_ -like \"$word*\" } | ForEach-Object "
                      "{\n"
                      "    [System.Management.Automation.CompletionResult]::new($_)\n"
                      "  }\n"
                      "}\n");
}

}  // namespace

Action AddCompletion(CLI::App& parser) {
  auto shell = std::make_shared<std::string>();
  AddOption(parser, "shell", *shell, "SHELL", "The shell")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish", "powershell"}));
  parser.footer(
      "Examples:\n"
      "  source <(flannelctl completion bash)\n"
      "  flannelctl completion fish > ~/.config/fish/completions/flannelctl.fish\n"
      "  flannelctl completion powershell | Out-String | Invoke-Expression");
  return [shell](Io& io) {
    io.out << (*shell == "bash"   ? Bash()
               : *shell == "zsh"  ? Zsh()
               : *shell == "fish" ? Fish()
                                  : PowerShell());
    return ExitCode::kOk;
  };
}

}  // namespace weft::cli
