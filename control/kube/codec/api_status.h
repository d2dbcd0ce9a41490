// SPDX-License-Identifier: Apache-2.0
// What the API server answers when it does not do what it was asked.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace weft::kube {

// A meta/v1 Status, or as much of one as another answer allows to tell.
struct ApiStatus {
  int code = 0;         // as HTTP's
  std::string reason;   // "Expired", "Invalid", "Forbidden", ...; empty if the answer was no Status
  std::string message;  // of at most 300 bytes; the start of the body if it was no Status
  std::optional<std::chrono::seconds> retry_after;  // details.retryAfterSeconds
  // It does not know the version asked for yet, or (etcd restored) never again.
  bool resource_version_too_large = false;
  friend bool operator==(const ApiStatus&, const ApiStatus&) = default;
};

// Out of an answer with a status of 300 and more: in protobuf, in JSON, or plain text (priority
// gate, proxies); `content_type` says which. Never fails.
ApiStatus DecodeApiStatus(int http_status, std::string_view content_type, std::string_view body);

}  // namespace weft::kube
