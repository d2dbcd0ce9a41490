// SPDX-License-Identifier: Apache-2.0
#include "control/kube/list_watch_request.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "control/http1/percent.h"

namespace weft::kube {
namespace {

constexpr std::string_view kProtobuf = "application/vnd.kubernetes.protobuf";
constexpr std::string_view kJson = "application/json";
constexpr int kPageSize = 500;  // client-go's

// "" or "&resourceVersion=..."
std::string Version(std::string_view version) {
  return version.empty() ? "" : absl::StrCat("&resourceVersion=", http1::EscapePercent(version));
}

// What a list is not to be older than.
std::string NotOlderThan(std::string_view version) {
  if (version.empty()) return "";
  return absl::StrCat(Version(version), "&resourceVersionMatch=NotOlderThan");
}

std::string Query(const NodesRequest& asked) {
  switch (asked.kind) {
    case RequestKind::kStream:
      return absl::StrCat(
          "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks="
          "true&timeoutSeconds=",
          asked.timeout_seconds, Version(asked.version));
    case RequestKind::kWatch:
      return absl::StrCat("?watch=1&allowWatchBookmarks=true&timeoutSeconds=",
                          asked.timeout_seconds, Version(asked.version));
    case RequestKind::kPage:
      if (!asked.continue_token.empty())
        return absl::StrCat("?limit=", kPageSize,
                            "&continue=", http1::EscapePercent(asked.continue_token));
      return absl::StrCat("?limit=", kPageSize, NotOlderThan(asked.version));
    case RequestKind::kList:
      break;
  }
  return asked.version.empty() ? "" : absl::StrCat("?", NotOlderThan(asked.version).substr(1));
}

}  // namespace

HttpRequest MakeNodesRequest(const NodesRequest& asked) {
  HttpRequest request;
  request.target = absl::StrCat("/api/v1/nodes", Query(asked));
  const std::string_view stream = KindOf(asked.kind) == AnswerKind::kWatch ? ";stream=watch" : "";
  request.accept = absl::StrCat(kJson, stream);
  if (!asked.json_only) request.accept = absl::StrCat(kProtobuf, stream, ",", request.accept);
  return request;
}

AnswerKind KindOf(RequestKind kind) {
  return kind == RequestKind::kStream || kind == RequestKind::kWatch ? AnswerKind::kWatch
                                                                     : AnswerKind::kList;
}

std::optional<Encoding> EncodingOf(std::string_view content_type) {
  const std::string_view type =
      absl::StripAsciiWhitespace(content_type.substr(0, content_type.find(';')));
  if (absl::EqualsIgnoreCase(type, kProtobuf)) return Encoding::kProtobuf;
  if (absl::EqualsIgnoreCase(type, kJson)) return Encoding::kJson;
  return std::nullopt;
}

}  // namespace weft::kube
