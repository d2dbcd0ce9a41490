// SPDX-License-Identifier: Apache-2.0
// The program as a function: what main calls, and what completion reads the options from.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "control/cli/verb.h"

namespace weft::cli {

// `arguments` without the program's name. Throws nothing.
ExitCode RunFlannelctl(std::vector<std::string> arguments, Io& io);

// The parser of one verb with its options, and its action.
struct PreparedVerb {
  std::unique_ptr<CLI::App> parser;
  Action action;
};
PreparedVerb Prepare(const Verb& verb);

}  // namespace weft::cli
