// SPDX-License-Identifier: Apache-2.0
// The HNS emulator that a user names: --hns=emulator:PATH.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "control/host/host.h"
#include "hns/api/api.h"

namespace weft::emulator {

// `path`: tcp:HOST:PORT or unix:PATH, where `flannelctl hns emulate` listens, or a file that holds
// the world, made when it is not there. One in a file stands on the adapters that `host` has now.
absl::StatusOr<std::shared_ptr<hns::Api>> OpenHns(const std::string& path, host::Host& host);

}  // namespace weft::emulator
