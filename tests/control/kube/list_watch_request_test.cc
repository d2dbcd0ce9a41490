// SPDX-License-Identifier: Apache-2.0
#include "control/kube/list_watch_request.h"

#include "gtest/gtest.h"

namespace weft::kube {
namespace {

TEST(ListWatchRequest, Targets) {
  struct Row {
    const char* description;
    NodesRequest asked;
    const char* query;
  };
  const Row rows[] = {
      {"a streamed list, as fresh as etcd",
       {RequestKind::kStream, "", "", 300, false},
       "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
       "&timeoutSeconds=300"},
      {"a streamed list, not older than what was seen",
       {RequestKind::kStream, "107", "", 599, false},
       "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
       "&timeoutSeconds=599&resourceVersion=107"},
      {"a list", {RequestKind::kList, "", "", 300, false}, ""},
      {"a list, not older than what was seen",
       {RequestKind::kList, "107", "", 300, false},
       "?resourceVersion=107&resourceVersionMatch=NotOlderThan"},
      {"the first page", {RequestKind::kPage, "", "", 300, false}, "?limit=500"},
      {"the first page, not older than what was seen",
       {RequestKind::kPage, "107", "", 300, false},
       "?limit=500&resourceVersion=107&resourceVersionMatch=NotOlderThan"},
      {"the next page: its token knows the version",
       {RequestKind::kPage, "107", "eyJ2Ijo", 300, false},
       "?limit=500&continue=eyJ2Ijo"},
      {"a watch",
       {RequestKind::kWatch, "107", "", 444, false},
       "?watch=1&allowWatchBookmarks=true&timeoutSeconds=444&resourceVersion=107"},
      {"a version is opaque",
       {RequestKind::kWatch, "a/b+c=d&e%\xc3\xa9-._~", "", 444, false},
       "?watch=1&allowWatchBookmarks=true&timeoutSeconds=444"
       "&resourceVersion=a%2Fb%2Bc%3Dd%26e%25%C3%A9-._~"},
      {"so is a token",
       {RequestKind::kPage, "", "a/b+c==", 300, false},
       "?limit=500&continue=a%2Fb%2Bc%3D%3D"},
  };
  for (const Row& row : rows) {
    const HttpRequest request = MakeNodesRequest(row.asked);
    EXPECT_EQ(request.target, std::string("/api/v1/nodes") + row.query) << row.description;
    EXPECT_EQ(request.method, "GET");
    EXPECT_EQ(request.body, "");
  }
}

TEST(ListWatchRequest, ProtobufBeforeJsonUnlessThatWasRefused) {
  const auto accept = [](RequestKind kind, bool json_only) {
    return MakeNodesRequest({kind, "", "", 300, json_only}).accept;
  };
  for (const RequestKind list : {RequestKind::kList, RequestKind::kPage}) {
    EXPECT_EQ(accept(list, false), "application/vnd.kubernetes.protobuf,application/json");
    EXPECT_EQ(accept(list, true), "application/json");
  }
  for (const RequestKind watch : {RequestKind::kStream, RequestKind::kWatch}) {
    EXPECT_EQ(accept(watch, false),
              "application/vnd.kubernetes.protobuf;stream=watch,application/json;stream=watch");
    EXPECT_EQ(accept(watch, true), "application/json;stream=watch");
  }
}

TEST(ListWatchRequest, TheContentTypeSelectsTheDecoder) {
  EXPECT_EQ(EncodingOf("application/vnd.kubernetes.protobuf"), Encoding::kProtobuf);
  EXPECT_EQ(EncodingOf("application/vnd.kubernetes.protobuf;stream=watch"), Encoding::kProtobuf);
  EXPECT_EQ(EncodingOf("application/json"), Encoding::kJson);
  EXPECT_EQ(EncodingOf(" Application/JSON ; charset=utf-8"), Encoding::kJson);
  for (const char* other : {"", ";", "text/html", "application/jsonp", "application/yaml"})
    EXPECT_EQ(EncodingOf(other), std::nullopt) << other;
}

}  // namespace
}  // namespace weft::kube
