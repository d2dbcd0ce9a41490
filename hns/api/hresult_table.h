// SPDX-License-Identifier: Apache-2.0
// What is known of each number HNS may answer.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "hns/api/hresult.h"

namespace weft::hns {

struct HresultRow {
  Hresult code;
  std::string_view name;  // as in Microsoft's headers
  // kUnavailable is said of exactly those that IsServiceGone() means.
  absl::StatusCode status;
  std::string_view next_step = "";  // for an operator
};

// Null for a number nobody named.
const HresultRow* RowOf(Hresult code);

}  // namespace weft::hns
