// SPDX-License-Identifier: Apache-2.0
// What list_watch requests of the API server, as HTTP requests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "control/kube/client/http_exchange.h"
#include "control/kube/codec/answer_reader.h"

namespace weft::kube {

enum class RequestKind : std::uint8_t {
  kStream,  // every Node as an event, the end mark, then the watch: all in one answer
  kList,    // all Nodes at once
  kPage,    // 500 of them
  kWatch,   // what changes after a version
};

struct NodesRequest {
  RequestKind kind = RequestKind::kStream;
  // kWatch: changes after this one. Otherwise the answer is not to be older; empty: as fresh as
  // etcd. Opaque; not sent next to a continue token, which has its own.
  std::string version;
  std::string continue_token;  // kPage: empty for the first one
  int timeout_seconds = 300;   // kStream, kWatch: the server ends the stream then
  bool json_only = false;
};

// GET /api/v1/nodes?...
HttpRequest MakeNodesRequest(const NodesRequest& asked);

// What the answer's reader is to expect.
AnswerKind KindOf(RequestKind kind);
// By the media type, whatever its parameters; none: neither of ours.
std::optional<Encoding> EncodingOf(std::string_view content_type);

}  // namespace weft::kube
