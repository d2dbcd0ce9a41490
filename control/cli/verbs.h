// SPDX-License-Identifier: Apache-2.0
// The table of verbs: each is one file, named after it.
#pragma once

#include <span>

#include "control/cli/verb.h"

namespace weft::cli {

Action AddLeases(CLI::App& parser);
Action AddStatus(CLI::App& parser);
Action AddExplain(CLI::App& parser);
Action AddHns(CLI::App& parser);
// A verb of verbs.
Action AddVerbs(CLI::App& parser, std::span<const Verb> verbs);
Action AddHnsControl(CLI::App& parser);
Action AddHnsDrift(CLI::App& parser);
Action AddHnsRepair(CLI::App& parser);
Action AddPlan(CLI::App& parser);
Action AddHnsList(CLI::App& parser);
Action AddHnsShow(CLI::App& parser);
Action AddHnsEmulate(CLI::App& parser);
Action AddReset(CLI::App& parser);
Action AddHnsEndpoint(CLI::App& parser);
Action AddVersion(CLI::App& parser);
Action AddCompletion(CLI::App& parser);

// In the order of the help text. "help" is not among them: it is the parser's.
std::span<const Verb> Verbs();
// The verb of that name, or null.
const Verb* FindVerb(std::string_view name);

}  // namespace weft::cli
