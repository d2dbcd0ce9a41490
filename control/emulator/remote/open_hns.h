// SPDX-License-Identifier: Apache-2.0
// The HNS that a program works on.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "hns/api/api.h"

namespace weft::emulator {

// This machine's own, or the emulator that `flannelctl hns emulate` serves on `socket`, whose
// absence is an error of each call. flanneld.exe links weft::own_hns, which has no emulator and
// refuses `socket`.
absl::StatusOr<std::shared_ptr<hns::Api>> OpenHns(const std::optional<std::string>& socket);

}  // namespace weft::emulator
