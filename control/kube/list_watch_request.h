// SPDX-License-Identifier: Apache-2.0
// The requests of list_watch as HTTP requests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "control/kube/client/http_exchange.h"
#include "control/kube/codec/answer_reader.h"

namespace weft::kube {

enum class RequestKind : std::uint8_t {
  kStream,  // every Node as an event, the end mark, then the watch: all in one answer
  kList,    // all Nodes at once
  kPage,    // 500 of them
  kWatch,   // changes after a version
};

struct NodesRequest {
  RequestKind kind = RequestKind::kStream;
  // kWatch: changes after this version. Otherwise the answer must not be older; empty: as fresh as
  // etcd. Opaque; not sent with a continue token, which contains its own.
  std::string version;
  std::string continue_token;  // kPage: empty for the first one
  int timeout_seconds = 300;   // kStream, kWatch: the server ends the stream then
  bool json_only = false;
};

// GET /api/v1/nodes?...
HttpRequest MakeNodesRequest(const NodesRequest& nodes);

// The kind of the answer, for its reader.
AnswerKind KindOf(RequestKind kind);

}  // namespace weft::kube
