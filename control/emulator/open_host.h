// SPDX-License-Identifier: Apache-2.0
// The host that a user names with --host=emulator:PATH, or this machine.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "control/host/host.h"

namespace weft::emulator {

// `emulator`: tcp:HOST:PORT or unix:PATH, where `flannelctl hns emulate` listens; empty: this
// machine.
absl::StatusOr<std::unique_ptr<host::Host>> OpenHost(const std::optional<std::string>& emulator);

}  // namespace weft::emulator
