// SPDX-License-Identifier: Apache-2.0
#include "absl/status/status.h"
#include "hns/api/api.h"

namespace weft::hns {

absl::StatusOr<std::unique_ptr<Api>> OpenApi() {
  return absl::UnimplementedError(
      "HNS is a service of Windows; on Linux use an emulated one with --hns=emulator:PATH");
}

}  // namespace weft::hns
