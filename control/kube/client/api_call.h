// SPDX-License-Identifier: Apache-2.0
// One short request and its whole answer: a patch, a single object.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "control/kube/client/api_client.h"
#include "control/kube/client/http_exchange.h"

namespace weft::kube {

// An answer of any status.
struct ApiAnswer {
  int status = 0;
  std::string content_type;
  std::optional<std::chrono::seconds> retry_after;
  std::string body;
  std::string credentials{};  // HttpHead::credentials
};

// Destroying it ends the request; `done` is not called then.
class ApiCall {
 public:
  static constexpr std::size_t kMaxBody = std::size_t{1} << 20;
  // Called once, later; the call may be destroyed within. An error is one of ExchangeHandler::OnEnd
  // (kDeadlineExceeded: not complete within the limit), kResourceExhausted: a longer body, or
  // kUnavailable: a 200 that is not an API server's.
  using Done = std::function<void(absl::StatusOr<ApiAnswer>)>;

  ApiCall(ApiClient& client, HttpRequest request, std::chrono::milliseconds limit, Done done,
          std::size_t max_body = kMaxBody);
  ~ApiCall();
  ApiCall(const ApiCall&) = delete;
  ApiCall& operator=(const ApiCall&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::kube
