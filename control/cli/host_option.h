// SPDX-License-Identifier: Apache-2.0
// --host of the verbs that change this machine's own adapters, routes or firewall.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace weft::cli {

// `host`: "emulator:ADDRESS", or empty.
void AddHostOption(CLI::App& parser, std::string& host);

}  // namespace weft::cli
