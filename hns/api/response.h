// SPDX-License-Identifier: Apache-2.0
// The document in which HNS says how a call went: an error record, or HNSCall's answer.
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
  std::string output;  // JSON; empty where the answer has none
};

// {"Success":false,"Error":"...","ErrorCode":2147942487,"Output":...}. DataLoss: no such document.
absl::StatusOr<Response> ParseResponse(std::string_view text);

// How `reply` of an HNSCall went, whichever way HNS says it; `what` as for StatusOf().
absl::StatusOr<Response> ResponseOf(std::string_view what, const Reply& reply);

}  // namespace weft::hns
