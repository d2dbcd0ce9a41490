// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "hns/api/api.h"

namespace weft::hns {

// This machine's HNS. On Windows it always comes: a DLL or function that is missing says so call
// by call. Unimplemented elsewhere.
absl::StatusOr<std::unique_ptr<Api>> OpenApi();

}  // namespace weft::hns
