// SPDX-License-Identifier: Apache-2.0
// flannelctl hns: verbs about Windows' Host Network Service, each a file.
#include <memory>
#include <utility>
#include <vector>

#include "control/cli/parser.h"
#include "control/cli/verbs.h"

namespace weft::cli {

Action AddVerbs(CLI::App& parser, std::span<const Verb> verbs) {
  auto actions = std::make_shared<std::vector<std::pair<CLI::App*, Action>>>();
  for (const Verb& verb : verbs) {
    CLI::App* const sub = parser.add_subcommand(std::string(verb.name), std::string(verb.summary));
    sub->set_help_flag("-h,--help", "Print this text");
    actions->emplace_back(sub, verb.add(*sub));
  }
  parser.require_subcommand(1);
  return [actions](Io& io) {
    for (const auto& [sub, action] : *actions)
      if (sub->parsed()) return action(io);
    return ExitCode::kUnusable;  // the parser requires one
  };
}

Action AddHns(CLI::App& parser) {
  parser.footer(
      "Examples:\n"
      "  flannelctl hns emulate --help\n"
      "  flannelctl hns emulate --listen hns.sock\n"
      "  flannelctl hns control hns.sock dump");
  return AddVerbs(parser, kHnsVerbs);
}

}  // namespace weft::cli
