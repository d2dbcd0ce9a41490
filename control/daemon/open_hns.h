// SPDX-License-Identifier: Apache-2.0
// The HNS that --hns and --dataplane name.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "control/config/options.h"
#include "control/host/host.h"
#include "hns/api/api.h"

namespace weft::daemon {

// Null: nobody programs one. An emulator in a file stands on the adapters that `host` has now.
absl::StatusOr<std::shared_ptr<hns::Api>> OpenHns(const config::Options& options, host::Host& host);

}  // namespace weft::daemon
