// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/remote/open_hns.h"
#include "hns/api/renewed_api.h"

namespace weft::emulator {

absl::StatusOr<std::shared_ptr<hns::Api>> OpenHns(const std::optional<std::string>& socket) {
  if (socket)
    return absl::UnimplementedError(
        "--hns=emulator:PATH is for Linux; on Windows an emulator takes the place of HNS's DLLs "
        "(tests/wine/hns.sh), so leave --hns out");
  if (absl::Status status = hns::OpenApi().status(); !status.ok()) return status;
  return std::make_shared<hns::RenewedApi>([] { return *hns::OpenApi(); });
}

}  // namespace weft::emulator
