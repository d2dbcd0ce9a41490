// SPDX-License-Identifier: Apache-2.0
#include "control/kube/node_patch.h"

#include "gtest/gtest.h"

namespace weft::kube {
namespace {

// Recorded from upstream (Windows, vxlan), with the MAC that it then sent in a second patch.
TEST(NodePatch, AnnotationsByteForByteAsUpstream) {
  EXPECT_EQ(
      AnnotationsPatch({{"flannel.alpha.coreos.com/public-ip", "192.168.1.10"},
                        {"flannel.alpha.coreos.com/kube-subnet-manager", "true"},
                        {"flannel.alpha.coreos.com/backend-type", "vxlan"},
                        {"flannel.alpha.coreos.com/backend-data",
                         R"({"VNI":4096,"VtepMAC":"00:15:5d:8c:2f:93"})"}}),
      R"({"metadata":{"annotations":{)"
      R"("flannel.alpha.coreos.com/backend-data":"{\"VNI\":4096,\"VtepMAC\":\"00:15:5d:8c:2f:93\"}",)"
      R"("flannel.alpha.coreos.com/backend-type":"vxlan",)"
      R"("flannel.alpha.coreos.com/kube-subnet-manager":"true",)"
      R"("flannel.alpha.coreos.com/public-ip":"192.168.1.10"}}})");
}

TEST(NodePatch, OneAnnotation) {
  EXPECT_EQ(AnnotationsPatch({{"org.com/public-ip", "fd00::1"}}),
            R"({"metadata":{"annotations":{"org.com/public-ip":"fd00::1"}}})");
}

TEST(NodePatch, TheEmptyTextRemoves) {
  EXPECT_EQ(AnnotationsPatch({{"org.com/public-ipv6", ""}}),
            R"({"metadata":{"annotations":{"org.com/public-ipv6":null}}})");
}

TEST(NodePatch, TextsAreEscapedAsJson) {
  EXPECT_EQ(AnnotationsPatch({{"k", "a\"b\\c\nd\x7f\xc3\xa4"}}),
            "{\"metadata\":{\"annotations\":{\"k\":\"a\\\"b\\\\c\\u000ad\\u007f\xc3\xa4\"}}}");
}

TEST(NodePatch, ConditionByteForByteAsUpstream) {
  const absl::Time now = absl::FromUnixSeconds(1786708800) + absl::Milliseconds(999);
  EXPECT_EQ(NetworkAvailablePatch(now),
            R"({"status":{"conditions":[{"type":"NetworkUnavailable","status":"False",)"
            R"("lastHeartbeatTime":"2026-08-14T12:00:00Z",)"
            R"("lastTransitionTime":"2026-08-14T12:00:00Z",)"
            R"("reason":"FlannelIsUp","message":"Flannel is running on this node"}]}})");
}

TEST(NodePatch, TargetsTheStatusSubresource) {
  const HttpRequest request = NodeStatusPatch("win1", "{}");
  EXPECT_EQ(request.method, "PATCH");
  EXPECT_EQ(request.target, "/api/v1/nodes/win1/status");
  EXPECT_EQ(request.content_type, "application/strategic-merge-patch+json");
  EXPECT_EQ(request.accept, "application/json");
  EXPECT_EQ(request.body, "{}");
}

TEST(NodePatch, TheNameIsOneSegmentOfThePath) {
  const struct {
    const char* name;
    const char* target;
  } rows[] = {
      {"ip-10-0-0-1.eu.internal", "/api/v1/nodes/ip-10-0-0-1.eu.internal/status"},
      {"WIN_1~", "/api/v1/nodes/WIN_1~/status"},
      {"a/b?c#d%e", "/api/v1/nodes/a%2Fb%3Fc%23d%25e/status"},
      {"a b\r\n", "/api/v1/nodes/a%20b%0D%0A/status"},
      {"\xc3\xa4", "/api/v1/nodes/%C3%A4/status"},
  };
  for (const auto& row : rows) EXPECT_EQ(NodeStatusPatch(row.name, "").target, row.target);
}

}  // namespace
}  // namespace weft::kube
