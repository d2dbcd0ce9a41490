// SPDX-License-Identifier: Apache-2.0
// Reads when a bearer token expires.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weft::kube {

// The claim `exp` of a JSON Web Token (RFC 7519), as service account tokens are, in Unix seconds.
// The signature is not verified: for messages. Empty: another token, or no such claim.
std::optional<std::int64_t> DecodeTokenExpiry(std::string_view token);

}  // namespace weft::kube
