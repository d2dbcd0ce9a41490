// SPDX-License-Identifier: Apache-2.0
// Why a patch of our Node failed, as a sentence that says what to do.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "control/kube/codec/api_status.h"

namespace weft::kube {

// `subject`: what was to be written, "annotations". `answer` is no success.
std::string PatchFailure(std::string_view node_name, std::string_view subject,
                         const absl::StatusOr<ApiStatus>& answer);

}  // namespace weft::kube
