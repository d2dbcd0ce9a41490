// SPDX-License-Identifier: Apache-2.0
#include "control/cli/help_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "control/cli/parser.h"
#include "control/config/flags.h"

namespace weft::cli {
namespace {

constexpr std::size_t kWidth = 80;

// "-o, --output FORM"; "HEX..." for what has no dashes.
std::string Heading(const CLI::Option& option, const std::string& value) {
  if (option.get_positional()) return value.empty() ? option.get_name() : value;
  std::string text;
  for (const std::string& name : option.get_snames()) absl::StrAppend(&text, "-", name, ", ");
  absl::StrAppend(&text, "--", option.get_lnames().front());
  return value.empty() ? text : absl::StrCat(text, " ", value);
}

void AppendOption(std::string& out, const CLI::Option& option) {
  // CLI11 writes a type with its choices as "FORM:{table,wide}".
  const std::string type = option.get_type_name();
  const std::size_t colon = type.find(":{");
  absl::StrAppend(&out, "  ", Heading(option, type.substr(0, colon)), "\n");
  std::string text = option.get_description();
  if (colon != std::string::npos) {
    const std::string choices = type.substr(colon + 2, type.size() - colon - 3);
    absl::StrAppend(&text, ": ", absl::StrReplaceAll(choices, {{",", ", "}}));
  }
  if (!option.get_default_str().empty())
    absl::StrAppend(&text, " (default: ", option.get_default_str(), ")");
  config::AppendWrapped(out, text, kWidth);
}

}  // namespace

std::string FullName(const CLI::App& parser) {
  const CLI::App* const parent = parser.get_parent();
  return parent == nullptr ? parser.get_name()
                           : absl::StrCat(FullName(*parent), " ", parser.get_name());
}

std::string HelpText(const CLI::App& parser) {
  std::string usage = absl::StrCat("Usage: ", FullName(parser));
  std::string verbs;
  for (const CLI::App* verb : parser.get_subcommands({})) {
    absl::StrAppend(&verbs, verbs.empty() ? "\nVerbs:\n  " : "  ", verb->get_name(), "\n");
    config::AppendWrapped(verbs, verb->get_description(), kWidth);
  }
  if (!verbs.empty()) usage += " VERB";
  std::string arguments;
  std::string options;
  for (const CLI::Option* option : parser.get_options()) {
    const bool positional = option->get_positional();
    AppendOption(positional ? arguments : options, *option);
    if (!positional) continue;
    const std::string type = option->get_type_name();
    const std::string name = Heading(*option, type.substr(0, type.find(":{")));
    absl::StrAppend(&usage, " ", option->get_required() ? name : absl::StrCat("[", name, "]"));
  }
  if (!arguments.empty()) arguments = absl::StrCat("\nArguments:\n", arguments);
  return absl::StrCat(parser.get_description(), "\n\n", usage, " [OPTION...]\n", verbs, arguments,
                      "\nOptions:\n", options, "\n", parser.get_footer(), "\n");
}

}  // namespace weft::cli
