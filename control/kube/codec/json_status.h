// SPDX-License-Identifier: Apache-2.0
// A meta/v1 Status in JSON.
#pragma once

#include <string_view>

#include "control/kube/codec/api_status.h"
#include "simdjson.h"

namespace weft::kube {

// False when it is none. Members of a wrong type count as absent.
bool ReadJsonStatus(simdjson::dom::element value, ApiStatus& status);
// The same out of a body.
bool DecodeJsonStatus(std::string_view text, ApiStatus& status);

}  // namespace weft::kube
