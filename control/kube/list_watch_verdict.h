// SPDX-License-Identifier: Apache-2.0
// The reaction to an error answer, and the sentence that reports it.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "control/kube/codec/api_status.h"
#include "control/kube/list_watch_request.h"

namespace weft::kube {

enum class Verdict : std::uint8_t {
  kTryAgain,        // send the same request after a pause
  kCount,           // the same, but change the mode if it happens often
  kNoStreamedList,  // the server has no streamed lists: use a list, then a watch
  kNoProtobuf,      // use JSON
  kExpired,         // 410: changes after this version are not available any more
  kNotKnownYet,     // the version is larger than any that the server knows
  kBadRequest,      // the version may be the reason
};

// `event`: an ERROR event inside an answer of 200. A streamed list that has become a watch counts
// as kWatch.
Verdict Judge(RequestKind kind, bool event, const ApiStatus& status);

// "cannot list nodes: the API server answers 403 (Forbidden): "nodes is ...": give ..."
absl::Status Condition(RequestKind kind, const ApiStatus& status);
// "cannot watch nodes: CAUSE; trying again". `cause` is printable.
absl::Status Condition(RequestKind kind, absl::StatusCode code, std::string_view cause);

}  // namespace weft::kube
