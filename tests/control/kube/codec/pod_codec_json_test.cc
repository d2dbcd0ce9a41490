// SPDX-License-Identifier: Apache-2.0
#include "control/kube/codec/objects_json.h"

#include <gtest/gtest.h>

namespace weft::kube {
namespace {

TEST(PodCodecJson, TakesTheNodeOfAPod) {
  const auto name = DecodePodNodeName(
      R"({"kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[],"nodeName":"win1"}})");
  ASSERT_TRUE(name.ok()) << name.status();
  EXPECT_EQ(*name, "win1");
}

TEST(PodCodecJson, APodThatIsNotScheduledHasNoNode) {
  EXPECT_EQ(DecodePodNodeName(R"({"spec":{}})").status(),
            absl::NotFoundError("the Pod is not on a node yet"));
}

TEST(PodCodecJson, NamesWhatIsWrong) {
  EXPECT_EQ(DecodePodNodeName(R"({"spec":{"nodeName":7}})").status().message(),
            "spec.nodeName is 7, not a string");
  EXPECT_EQ(DecodePodNodeName(R"({"spec":7})").status().message(), "spec is 7, not an object");
  EXPECT_EQ(DecodePodNodeName("{}").status().message(), "the Pod has no spec");
  EXPECT_EQ(DecodePodNodeName("[]").status().message(), "the Pod is an array, not an object");
  EXPECT_FALSE(DecodePodNodeName("{").ok());
}

}  // namespace
}  // namespace weft::kube
