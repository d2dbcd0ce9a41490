// SPDX-License-Identifier: Apache-2.0
// What the decoders of a Status share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "control/kube/codec/api_status.h"
#include "simdjson.h"

namespace weft::kube {

// The start of a message of the server's as one line of printable ASCII: it goes to the log.
std::string StatusLine(std::string_view text);

// The same way in both encodings.
void SetCode(std::int64_t code, ApiStatus& status);
void SetRetryAfter(std::int64_t seconds, ApiStatus& status);
// One of details.causes.
void AddCause(std::string_view reason, std::string_view message, ApiStatus& status);

// False when it is none. Members of a wrong type count as absent.
bool ReadJsonStatus(simdjson::dom::element value, ApiStatus& status);
// The same out of a body.
bool DecodeJsonStatus(std::string_view text, ApiStatus& status);

// The message itself, without the body's envelope. An error when the bytes are no protobuf.
absl::Status DecodeProtobufStatus(std::string_view bytes, ApiStatus& status);

}  // namespace weft::kube
