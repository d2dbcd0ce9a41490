// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "hns/api/api.h"

namespace weft::hns {

// This machine's HNS. On Windows it always succeeds: if a DLL or function is missing, each call
// returns that. Unimplemented elsewhere.
absl::StatusOr<std::unique_ptr<Api>> OpenApi();

}  // namespace weft::hns
