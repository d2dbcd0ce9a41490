// SPDX-License-Identifier: Apache-2.0
// Shared by the decoders of a Status.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "control/kube/codec/api_status.h"
#include "simdjson.h"

namespace weft::kube {

// The start of a server's message as one line of printable ASCII, for the log.
std::string StatusLine(std::string_view text);

// Sets the code, with the same rules for both encodings.
void SetCode(std::int64_t code, ApiStatus& status);
void SetRetryAfter(std::int64_t seconds, ApiStatus& status);
// Adds one of details.causes.
void AddCause(std::string_view reason, std::string_view message, ApiStatus& status);

// False if it is not a Status. Members of a wrong type count as absent.
bool ReadJsonStatus(simdjson::dom::element value, ApiStatus& status);
// The same for a body.
bool DecodeJsonStatus(std::string_view text, ApiStatus& status);

// Decodes the message without the body's envelope. An error if the bytes are not protobuf.
absl::Status DecodeProtobufStatus(std::string_view bytes, ApiStatus& status);

}  // namespace weft::kube
