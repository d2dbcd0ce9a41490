// SPDX-License-Identifier: Apache-2.0
// A meta/v1 Status in protobuf.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "control/kube/codec/api_status.h"

namespace weft::kube {

// The message itself, without the body's envelope. An error when the octets are no protobuf.
absl::Status DecodeProtobufStatus(std::string_view octets, ApiStatus& status);

}  // namespace weft::kube
