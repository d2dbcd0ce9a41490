// SPDX-License-Identifier: Apache-2.0
// The host that a user names: --host=emulator:PATH, or this machine.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "control/host/host.h"

namespace weft::emulator {

// `option`: emulator:tcp:HOST:PORT or emulator:unix:PATH, where `flannelctl hns emulate` listens;
// empty: this machine.
absl::StatusOr<std::unique_ptr<host::Host>> OpenHost(const std::string& option);

}  // namespace weft::emulator
