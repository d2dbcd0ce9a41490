// SPDX-License-Identifier: Apache-2.0
// --host of the verbs that change this machine's own adapters, routes or firewall.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "control/host/host.h"

namespace CLI {
class App;
}

namespace weft::cli {

void AddHostOption(CLI::App& parser, std::string& host);
// "emulator:PATH"; empty: this machine.
absl::StatusOr<std::unique_ptr<host::Host>> OpenHost(const std::string& host);

}  // namespace weft::cli
