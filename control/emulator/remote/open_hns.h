// SPDX-License-Identifier: Apache-2.0
// The HNS that a program works on.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "hns/api/api.h"

namespace weft::emulator {

// This machine's own HNS, or the emulator that `flannelctl hns emulate` serves on `socket`. Without
// such a server each call returns an error. flanneld.exe links weft::own_hns, which has no emulator
// and refuses `socket`.
absl::StatusOr<std::shared_ptr<hns::Api>> OpenHns(const std::optional<std::string>& socket);

}  // namespace weft::emulator
