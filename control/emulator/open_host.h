// SPDX-License-Identifier: Apache-2.0
// The host emulator that a user names: --host=emulator:PATH.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "control/host/host.h"

namespace weft::emulator {

// `path`: tcp:HOST:PORT or unix:PATH, where `flannelctl hns emulate` listens.
absl::StatusOr<std::unique_ptr<host::Host>> OpenHost(const std::string& path);

}  // namespace weft::emulator
