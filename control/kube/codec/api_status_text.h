// SPDX-License-Identifier: Apache-2.0
// What the decoders of a Status share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "control/kube/codec/api_status.h"

namespace weft::kube {

// The start of a message of the server's as one line of printable ASCII: it goes to the log.
std::string StatusLine(std::string_view text);

// The same way in both encodings.
void SetCode(std::int64_t code, ApiStatus& status);
void SetRetryAfter(std::int64_t seconds, ApiStatus& status);
// One of details.causes.
void AddCause(std::string_view reason, std::string_view message, ApiStatus& status);

}  // namespace weft::kube
