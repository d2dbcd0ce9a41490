// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/remote/open_hns.h"

#include "control/emulator/remote/remote_api.h"
#include "hns/api/renewed_api.h"

namespace weft::emulator {

absl::StatusOr<std::shared_ptr<hns::Api>> OpenHns(const std::optional<std::string>& socket) {
  if (socket)
    return std::make_shared<hns::RenewedApi>(
        [path = *socket] { return std::make_unique<hns::emulator::RemoteApi>(path); });
  if (absl::Status status = hns::OpenApi().status(); !status.ok()) return status;
  return std::make_shared<hns::RenewedApi>([] { return *hns::OpenApi(); });
}

}  // namespace weft::emulator
