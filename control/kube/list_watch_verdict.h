// SPDX-License-Identifier: Apache-2.0
// What follows from an answer other than the one asked for, and what people are told of it.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "control/kube/codec/api_status.h"
#include "control/kube/list_watch_request.h"

namespace weft::kube {

enum class Verdict : std::uint8_t {
  kTryAgain,        // the same again, after a pause
  kCount,           // the same again, after a pause; when it happens often, another way
  kNoStreamedList,  // the server has none: a list, then a watch
  kNoProtobuf,      // the same in JSON
  kExpired,         // 410: changes after this version are no more to be had
  kNotKnownYet,     // the version is larger than any that the server knows
  kBadRequest,      // it may dislike the version
};

// `event`: an ERROR event inside an answer of 200. A streamed list that has become a watch counts
// as kWatch.
Verdict Judge(RequestKind kind, bool event, const ApiStatus& status);

// "cannot list nodes: the API server answers 403 (Forbidden): "nodes is ...": give ..."
absl::Status Condition(RequestKind kind, const ApiStatus& status);
// "cannot watch nodes: CAUSE; trying again". `cause` is printable.
absl::Status Condition(RequestKind kind, absl::StatusCode code, std::string_view cause);

}  // namespace weft::kube
