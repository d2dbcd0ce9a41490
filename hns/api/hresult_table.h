// SPDX-License-Identifier: Apache-2.0
// Name, status and next step for each number that HNS may return.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "hns/api/hresult.h"

namespace weft::hns {

struct HresultRow {
  Hresult code;
  std::string_view name;  // as in Microsoft's headers
  // kUnavailable exactly where IsServiceGone().
  absl::StatusCode status;
  std::string_view next_step = "";  // for an operator
};

// Null for a number without a name.
const HresultRow* RowOf(Hresult code);

}  // namespace weft::hns
