// SPDX-License-Identifier: Apache-2.0
#include "control/cli/flannelctl.h"

#include <algorithm>
#include <exception>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/str_cat.h"
#include "control/cli/help_text.h"
#include "control/cli/nearest.h"
#include "control/cli/verbs.h"

namespace weft::cli {
namespace {

std::string Overview() {
  std::string text =
      "flannelctl looks at a flanneld of this node, or at the leases in a file.\n\n"
      "Usage: flannelctl VERB [OPTION...]\n\nVerbs:\n";
  const auto line = [&text](std::string_view name, std::string_view summary) {
    absl::StrAppend(&text, "  ", name, std::string(13 - name.size(), ' '), summary, "\n");
  };
  for (const Verb& verb : Verbs()) line(verb.name, verb.summary);
  line("help", "This text, or that of a verb: flannelctl help VERB");
  absl::StrAppend(
      &text,
      "\nExit codes: 0 well; 1 answered, and the answer is bad; 2 not answered (usage,\n"
      "unreadable input, no daemon). Data goes to stdout, messages to stderr.\n\n"
      "Examples:\n"
      "  flannelctl status\n"
      "  flannelctl leases -o wide\n"
      "  kubectl get nodes -o json > nodes.json\n"
      "  flannelctl leases --from nodes.json --node-name \"$HOSTNAME\"\n");
  return text;
}

// Before CLI11 sees anything: its own message would be about an unexpected argument, or about none.
// `parent`: the verb of verbs, "hns endpoint"; empty: the program.
ExitCode RefuseVerb(Io& io, const std::string& parent, std::vector<std::string_view> names,
                    const std::string& name) {
  const std::string_view nearest = Nearest(name, names);
  io.err << "flannelctl" << (parent.empty() ? "" : " ") << parent << ": there is no verb \"" << name
         << "\"";
  if (!nearest.empty()) io.err << "; did you mean \"" << nearest << "\"?";
  io.err << (nearest.empty() ? "; " : " ") << "\"flannelctl help" << (parent.empty() ? "" : " ")
         << parent << "\" lists them\n";
  return ExitCode::kUnusable;
}

ExitCode RefuseVerb(Io& io, const std::string& name) {
  std::vector<std::string_view> names{"help"};
  for (const Verb& verb : Verbs()) names.push_back(verb.name);
  return RefuseVerb(io, "", std::move(names), name);
}

// The words of `arguments` that name verbs of verbs: "endpoint add" of hns.
struct Nested {
  std::string path;  // with the first verb
  // A word that should be one and is not; its verb's own names. Empty: all are.
  std::string wrong;
  std::vector<std::string> names;
};
Nested FindNested(const CLI::App* parser, std::string path,
                  const std::vector<std::string>& arguments) {
  Nested nested{std::move(path), "", {}};
  for (const std::string& word : arguments) {
    const auto verbs = parser->get_subcommands({});
    if (verbs.empty() || word.starts_with('-')) break;
    const auto found = std::find_if(verbs.begin(), verbs.end(),
                                    [&](const CLI::App* verb) { return verb->get_name() == word; });
    if (found == verbs.end()) {
      nested.wrong = word;
      for (const CLI::App* verb : verbs) nested.names.push_back(verb->get_name());
      break;
    }
    parser = *found;
    absl::StrAppend(&nested.path, " ", word);
  }
  return nested;
}

ExitCode RunVerb(const Verb& verb, std::vector<std::string> arguments, Io& io) {
  const PreparedVerb prepared = Prepare(verb);
  const Nested nested = FindNested(prepared.parser.get(), std::string(verb.name), arguments);
  if (!nested.wrong.empty())
    return RefuseVerb(io, nested.path, {nested.names.begin(), nested.names.end()}, nested.wrong);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    prepared.parser->parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    const CLI::App* asked = prepared.parser.get();
    while (!asked->get_subcommands().empty()) asked = asked->get_subcommands().front();
    io.out << HelpText(*asked);
    return ExitCode::kOk;
  } catch (const CLI::ParseError& error) {
    io.err << "flannelctl " << nested.path << ": " << error.what() << "; see \"flannelctl help "
           << nested.path << "\"\n";
    return ExitCode::kUnusable;
  }
  const ExitCode code = prepared.action(io);
  io.out.flush();  // a full disk shows here
  if (io.out) return code;
  return Fail(io, verb.name,
              absl::DataLossError("cannot write to standard output; is the disk full?"));
}

}  // namespace

ExitCode Fail(Io& io, std::string_view verb, const absl::Status& status) {
  io.err << "flannelctl " << verb << ": " << status.message() << "\n";
  return ExitCode::kUnusable;
}

PreparedVerb Prepare(const Verb& verb) {
  PreparedVerb prepared;
  prepared.parser =
      std::make_unique<CLI::App>(std::string(verb.summary), absl::StrCat("flannelctl ", verb.name));
  prepared.parser->set_help_flag("-h,--help", "Print this text");
  prepared.action = verb.add(*prepared.parser);
  return prepared;
}

ExitCode RunFlannelctl(std::vector<std::string> arguments, Io& io) {
  // Nothing was asked, so the help is a message, not data.
  if (arguments.empty()) {
    io.err << Overview();
    return ExitCode::kUnusable;
  }
  std::string name = arguments.front();
  arguments.erase(arguments.begin());
  if (name == "--version") name = "version";
  if (name == "help" && !arguments.empty()) {
    name = arguments.front();
    arguments.erase(arguments.begin());
    arguments.push_back("--help");
  }
  if (name == "help" || name == "--help" || name == "-h") {
    io.out << Overview();
    return ExitCode::kOk;
  }
  const Verb* const verb = FindVerb(name);
  if (verb == nullptr) return RefuseVerb(io, name);
  try {
    return RunVerb(*verb, std::move(arguments), io);
  } catch (const std::exception& error) {
    return Fail(io, name, absl::InternalError(absl::StrCat("internal error: ", error.what())));
  }
}

}  // namespace weft::cli
