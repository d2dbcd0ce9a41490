// SPDX-License-Identifier: Apache-2.0
// One HTTP request and its answer as values: made by the state machines, executed by the API
// client.
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

// Receives the answer to a request, on the control thread: OnHead at most once, then OnBody any
// number of times, then OnEnd exactly once. The exchange may be destroyed within any of them; then
// no further call follows.
class ExchangeHandler {
 public:
  virtual ~ExchangeHandler() = default;
  virtual void OnHead(const HttpHead& head) = 0;
  // A piece of the body without transfer coding, cut anywhere. Valid until the call returns.
  virtual void OnBody(std::string_view bytes) = 0;
  // OK: the answer is complete. Otherwise the error of the connection, for people:
  //   kUnauthenticated     the server's certificate is not trusted, it refuses ours, or no
  //                        credentials can be read; kInvalidArgument: they are unusable
  //   kUnavailable         no address, no connection, cut
  //   kDeadlineExceeded    no answer in time
  virtual void OnEnd(const absl::Status& status) = 0;
};

}  // namespace weft::kube
