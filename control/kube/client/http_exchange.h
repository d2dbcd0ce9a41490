// SPDX-License-Identifier: Apache-2.0
// One HTTP request and its answer as values: what the state machines ask for and what the API
// client carries out.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "control/http1/answer_parser.h"

namespace weft::kube {

struct HttpRequest {
  std::string method = "GET";
  std::string target;  // path and query, escaped: "/api/v1/nodes?watch=1"
  std::string accept = "application/json";
  std::string content_type;  // empty without a body
  std::string body;
  friend bool operator==(const HttpRequest&, const HttpRequest&) = default;
};

using http1::HttpHead;

// What becomes of a request, on the control thread: OnHead at most once, then any number of OnBody,
// then OnEnd once, whatever happened. The exchange may be destroyed within any of them; nothing
// comes after that.
class ExchangeHandler {
 public:
  virtual ~ExchangeHandler() = default;
  virtual void OnHead(const HttpHead& head) = 0;
  // Without transfer coding; cut anywhere. The bytes live until it returns.
  virtual void OnBody(std::string_view bytes) = 0;
  // OK: the answer is complete. Otherwise what went wrong between us and the server, for people:
  //   kUnauthenticated     the server's certificate is not to be trusted, it refuses ours, or no
  //                        credentials can be read; kInvalidArgument: they are unusable
  //   kUnavailable         no address, no connection, cut
  //   kDeadlineExceeded    no answer in time
  virtual void OnEnd(const absl::Status& status) = 0;
};

}  // namespace weft::kube
