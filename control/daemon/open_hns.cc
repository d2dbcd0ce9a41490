// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/open_hns.h"

#include <utility>

#include "control/emulator/open_hns.h"
#include "hns/api/open_api.h"
#include "hns/api/renewed_api.h"

namespace weft::daemon {

absl::StatusOr<std::shared_ptr<hns::Api>> OpenHns(const config::Options& options,
                                                  host::Host& host) {
  if (options.hns_emulator) return emulator::OpenHns(*options.hns_emulator, host);
  if (options.data_plane != config::DataPlane::kHns) return std::shared_ptr<hns::Api>();
  if (absl::Status status = hns::OpenApi().status(); !status.ok()) return status;
  return std::make_shared<hns::RenewedApi>([] { return *hns::OpenApi(); });
}

}  // namespace weft::daemon
