// SPDX-License-Identifier: Apache-2.0
#include "control/kube/list_watch_request.h"

#include "absl/strings/str_cat.h"
#include "control/http1/percent.h"

namespace weft::kube {
namespace {

constexpr int kPageSize = 500;  // client-go's

// "" or "&resourceVersion=..."
std::string Version(std::string_view version) {
  return version.empty() ? "" : absl::StrCat("&resourceVersion=", http1::EscapePercent(version));
}

// The parameters of a list that must not be older than `version`.
std::string NotOlderThan(std::string_view version) {
  if (version.empty()) return "";
  return absl::StrCat(Version(version), "&resourceVersionMatch=NotOlderThan");
}

std::string Query(const NodesRequest& nodes) {
  switch (nodes.kind) {
    case RequestKind::kStream:
      return absl::StrCat(
          "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks="
          "true&timeoutSeconds=",
          nodes.timeout_seconds, Version(nodes.version));
    case RequestKind::kWatch:
      return absl::StrCat("?watch=1&allowWatchBookmarks=true&timeoutSeconds=",
                          nodes.timeout_seconds, Version(nodes.version));
    case RequestKind::kPage:
      if (!nodes.continue_token.empty())
        return absl::StrCat("?limit=", kPageSize,
                            "&continue=", http1::EscapePercent(nodes.continue_token));
      return absl::StrCat("?limit=", kPageSize, NotOlderThan(nodes.version));
    case RequestKind::kList:
      break;
  }
  return nodes.version.empty() ? "" : absl::StrCat("?", NotOlderThan(nodes.version).substr(1));
}

}  // namespace

HttpRequest MakeNodesRequest(const NodesRequest& nodes) {
  HttpRequest request;
  request.target = absl::StrCat("/api/v1/nodes", Query(nodes));
  const std::string_view stream = KindOf(nodes.kind) == AnswerKind::kWatch ? ";stream=watch" : "";
  request.accept = absl::StrCat(kJson, stream);
  if (!nodes.json_only) request.accept = absl::StrCat(kProtobuf, stream, ",", request.accept);
  return request;
}

AnswerKind KindOf(RequestKind kind) {
  return kind == RequestKind::kStream || kind == RequestKind::kWatch ? AnswerKind::kWatch
                                                                     : AnswerKind::kList;
}

}  // namespace weft::kube
