// SPDX-License-Identifier: Apache-2.0
#include "control/cli/flannelctl.h"

#include <algorithm>
#include <exception>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "control/cli/help_text.h"
#include "control/cli/parser.h"
#include "control/cli/verbs.h"
#include "vxlan/text/edit_distance.h"

namespace weft::cli {
namespace {

std::string Overview() {
  std::string text =
      "flannelctl inspects the flanneld of this node, or the leases in a file.\n\n"
      "Usage: flannelctl VERB [OPTION...]\n\nVerbs:\n";
  const auto line = [&text](std::string_view name, std::string_view summary) {
    absl::StrAppend(&text, "  ", name, std::string(13 - name.size(), ' '), summary, "\n");
  };
  for (const Verb& verb : kVerbs) line(verb.name, verb.summary);
  line("help", "This text, or that of a verb: flannelctl help VERB");
  absl::StrAppend(
      &text,
      "\nExit codes: 0 good; 1 a finding: degraded, dropped; 2 no answer: wrong usage,\n"
      "unreadable input, no daemon. Data goes to stdout, messages to stderr.\n\n"
      "Examples:\n"
      "  flannelctl status\n"
      "  flannelctl leases -o wide\n"
      "  kubectl get nodes -o json > nodes.json\n"
      "  flannelctl leases --from nodes.json --node-name \"$HOSTNAME\"\n");
  return text;
}

// "flannelctl help hns" of "flannelctl hns".
std::string HelpCommand(std::string_view path) {
  return absl::StrCat("flannelctl help", absl::StripPrefix(path, "flannelctl"));
}

// `path`: "flannelctl", or a verb of verbs, "flannelctl hns endpoint".
ExitCode RefuseVerb(Io& io, const std::string& path, const std::vector<std::string_view>& names,
                    const std::string& name) {
  const std::string_view nearest = Nearest(name, names);
  io.err << path << ": there is no verb \"" << name << "\"; ";
  if (!nearest.empty()) io.err << "did you mean \"" << nearest << "\"? ";
  io.err << "\"" << HelpCommand(path) << "\" lists them\n";
  return ExitCode::kUnusable;
}

std::string Unexpected(const CLI::App& verb, const std::vector<std::string>& words) {
  const auto option = std::find_if(words.begin(), words.end(), [](const std::string& word) {
    return word.size() > 1 && word.starts_with('-');
  });
  if (option == words.end())
    return absl::StrCat("unexpected \"", words.empty() ? "" : words.front(), "\"");
  const std::string name = option->substr(0, option->find('='));
  std::vector<std::string> known;
  for (const CLI::Option* each : verb.get_options())
    for (const std::string& word : each->get_lnames()) known.push_back("--" + word);
  if (verb.get_option_no_throw(name) != nullptr)
    return absl::StrCat("write ", name, " after \"", FullName(verb), "\"");
  const std::string_view nearest =
      Nearest(name, std::vector<std::string_view>(known.begin(), known.end()));
  return absl::StrCat("there is no option ", name,
                      nearest.empty() ? "" : absl::StrCat(", did you mean ", nearest, "?"));
}

// CLI11's error in our words. `rest`: words that no option or argument accepted.
std::string UsageText(const CLI::App& verb, const CLI::ParseError& error,
                      const std::vector<std::string>& rest) {
  const std::string text = error.what();
  switch (static_cast<CLI::ExitCodes>(error.get_exit_code())) {
    case CLI::ExitCodes::ExtrasError:
      return Unexpected(verb, rest);
    case CLI::ExitCodes::RequiredError:
      if (!rest.empty()) return Unexpected(verb, rest);
      if (const auto verbs = verb.get_subcommands({}); !verbs.empty()) {
        const auto name = [](std::string* out, const CLI::App* each) { *out += each->get_name(); };
        return absl::StrCat("a verb is required: ", absl::StrJoin(verbs, ", ", name));
      }
      return text;
    case CLI::ExitCodes::ArgumentMismatch:
      return absl::StrCat(text.substr(0, text.find(':')), ": a value is required");
    case CLI::ExitCodes::ConversionError:  // all that are converted are numbers
      return absl::StrCat(
          absl::StrReplaceAll(absl::StripPrefix(text, "Could not convert: "), {{" = ", " "}}),
          " is not a number, or too large");
    case CLI::ExitCodes::ValidationError:
      return absl::StrReplaceAll(text, {{" not in {", " is not one of "}, {",", ", "}, {"}", ""}});
    default:
      return text;
  }
}

ExitCode RunVerb(const Verb& verb, std::vector<std::string> arguments, Io& io) {
  const PreparedVerb prepared = Prepare(verb);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    prepared.parser->parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    const CLI::App* parser = prepared.parser.get();
    while (!parser->get_subcommands().empty()) parser = parser->get_subcommands().front();
    const std::string path = FullName(*parser);
    const std::vector<std::string> rest = prepared.parser->remaining(/*recurse=*/true);
    const auto verbs = parser->get_subcommands({});
    if (!verbs.empty() && !rest.empty() && !rest.front().starts_with('-')) {
      std::vector<std::string> names;
      names.reserve(verbs.size());
      for (const CLI::App* each : verbs) names.push_back(each->get_name());
      return RefuseVerb(io, path, {names.begin(), names.end()}, rest.front());
    }
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {  // --help
      io.out << HelpText(*parser);
      return ExitCode::kOk;
    }
    io.err << path << ": " << UsageText(*parser, error, rest) << "; see \"" << HelpCommand(path)
           << "\"\n";
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
  // Wrong usage: the help is a message, not data.
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
  const auto verb = std::find_if(std::begin(kVerbs), std::end(kVerbs),
                                 [&](const Verb& each) { return each.name == name; });
  if (verb == std::end(kVerbs)) {
    std::vector<std::string_view> names{"help"};
    for (const Verb& each : kVerbs) names.push_back(each.name);
    return RefuseVerb(io, "flannelctl", names, name);
  }
  try {
    return RunVerb(*verb, std::move(arguments), io);
  } catch (const std::exception& error) {
    return Fail(io, name, absl::InternalError(absl::StrCat("internal error: ", error.what())));
  }
}

}  // namespace weft::cli
