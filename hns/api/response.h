// SPDX-License-Identifier: Apache-2.0
// The document with the result of a call: an error record, or HNSCall's response.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hns/api/api.h"
#include "hns/api/hresult.h"

namespace weft::hns {

struct Response {
  bool success = false;
  std::string error;  // localised
  std::optional<Hresult> error_code;
  std::string output;  // JSON; empty if there is none
};

// {"Success":false,"Error":"...","ErrorCode":2147942487,"Output":...}. DataLoss: no such document.
absl::StatusOr<Response> ParseResponse(std::string_view text);

// The result of an HNSCall, from its code, error record or text. `what`: as for StatusOf().
absl::StatusOr<Response> ResponseOf(std::string_view what, const Reply& reply);

}  // namespace weft::hns
