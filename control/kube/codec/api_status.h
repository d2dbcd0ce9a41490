// SPDX-License-Identifier: Apache-2.0
// The API server's answer to a request that failed.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace weft::kube {

// A meta/v1 Status, or the parts of one that another answer contains.
struct ApiStatus {
  int code = 0;         // HTTP status
  std::string reason;   // "Expired", "Invalid", "Forbidden", ...; empty if the answer was no Status
  std::string message;  // of at most 300 bytes; the start of the body if it was no Status
  std::optional<std::chrono::seconds> retry_after;  // details.retryAfterSeconds
  // The server does not know the requested version yet, or (etcd was restored) never will.
  bool resource_version_too_large = false;
  std::string credentials = {};  // HttpHead::credentials
  friend bool operator==(const ApiStatus&, const ApiStatus&) = default;
};

// Decodes an answer with a status of 300 or more: protobuf, JSON or plain text (priority gate,
// proxies), according to `content_type`. Never fails.
ApiStatus DecodeApiStatus(int http_status, std::string_view content_type, std::string_view body);

}  // namespace weft::kube
