// SPDX-License-Identifier: Apache-2.0
// A verb's help, made of its parser.
#pragma once

#include <string>

#include "control/cli/verb.h"

namespace weft::cli {

// At most 80 columns, if the parser's footer keeps to them. `name` as typed: "flannelctl leases".
std::string HelpText(const CLI::App& parser);

}  // namespace weft::cli
