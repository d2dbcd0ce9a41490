// SPDX-License-Identifier: Apache-2.0
// A verb's help, made of its parser.
#pragma once

#include <string>

#include "control/cli/verb.h"

namespace weft::cli {

// As typed: "flannelctl hns emulate".
std::string FullName(const CLI::App& parser);

// At most 80 columns, if the parser's footer keeps to them.
std::string HelpText(const CLI::App& parser);

}  // namespace weft::cli
