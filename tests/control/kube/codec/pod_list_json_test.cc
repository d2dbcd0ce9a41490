// SPDX-License-Identifier: Apache-2.0
#include "control/kube/codec/objects_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace weft::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string ListOf(std::string_view pod) { return absl::StrCat(R"({"items":[)", pod, "]}"); }

TEST(PodListJson, ReadsWhatADrainNeeds) {
  const auto pod = [](std::string_view text) {
    const auto listed = DecodePodList(ListOf(text));
    EXPECT_TRUE(listed.ok()) << listed.status() << " " << text;
    return listed.ok() && listed->pods.size() == 1 ? listed->pods[0] : ListedPod();
  };
  EXPECT_EQ(pod(R"({"metadata":{"name":"web","namespace":"shop","annotations":{"a":"b"}},"spec":{},
                    "status":{"phase":"Running"}})"),
            (ListedPod{"shop/web"}));
  EXPECT_EQ(pod(R"({"metadata":{"name":"p","namespace":"n"},"spec":{"hostNetwork":true}})"),
            (ListedPod{.name = "n/p", .host_network = true}));
  EXPECT_EQ(pod(R"({"metadata":{"name":"p","namespace":"n","ownerReferences":[
                    {"kind":"Job"},{"kind":"DaemonSet","controller":true}]}})"),
            (ListedPod{.name = "n/p", .daemon_set = true}));
  EXPECT_EQ(pod(R"({"metadata":{"name":"p","namespace":"n","ownerReferences":[
                    {"kind":"DaemonSet","controller":false},
                    {"kind":"ReplicaSet","controller":true}]}})"),
            (ListedPod{"n/p"}));
  EXPECT_EQ(pod(R"({"metadata":{"name":"p","namespace":"n",
                    "annotations":{"kubernetes.io/config.mirror":"x"}}})"),
            (ListedPod{.name = "n/p", .mirror = true}));
  for (const char* const phase : {"Succeeded", "Failed"}) {
    EXPECT_EQ(pod(absl::StrCat(R"({"metadata":{"name":"p"},"status":{"phase":")", phase, "\"}}")),
              (ListedPod{.name = "/p", .terminated = true}));
  }
}

TEST(PodListJson, APageHasTheTokenOfTheNext) {
  const auto listed = DecodePodList(R"({"metadata":{"continue":"t/1"},"items":[]})");
  ASSERT_TRUE(listed.ok()) << listed.status();
  EXPECT_EQ(listed->next, "t/1");
  EXPECT_THAT(listed->pods, IsEmpty());
  EXPECT_EQ(DecodePodList(R"({"items":null,"kind":"PodList"})")->next, "");
}

TEST(PodListJson, APodThatCannotBeReadFailsTheList) {
  const struct {
    std::string_view pod, error;
  } rows[] = {
      {"7", "a Pod of the list is 7, not an object"},
      {"{}", "Pod of the list: it has no metadata"},
      {R"({"metadata":7})", "Pod of the list: metadata is 7, not an object"},
      {R"({"metadata":{}})", "Pod of the list: it has no name"},
      {R"({"metadata":{"name":7}})", "Pod of the list: metadata.name is 7, not a string"},
      {R"({"metadata":{"name":"p","namespace":"n"},"spec":{"hostNetwork":"true"}})",
       "Pod n/p: spec.hostNetwork is \"true\", not a bool"},
      {R"({"metadata":{"name":"p","namespace":"n"},"spec":7})",
       "Pod n/p: spec is 7, not an object"},
      {R"({"metadata":{"name":"p","namespace":"n"},"status":{"phase":7}})",
       "Pod n/p: status.phase is 7, not a string"},
      {R"({"metadata":{"name":"p","namespace":"n","ownerReferences":{}}})",
       "Pod n/p: metadata.ownerReferences is an object, not an array"},
      {R"({"metadata":{"name":"p","namespace":"n","ownerReferences":[{"controller":1}]}})",
       "Pod n/p: ownerReferences.controller is 1, not a bool"},
  };
  for (const auto& row : rows)
    EXPECT_EQ(DecodePodList(ListOf(row.pod)).status().message(), row.error) << row.pod;
}

TEST(PodListJson, AnotherDocumentIsNoEmptyList) {
  EXPECT_EQ(DecodePodList("{}").status().message(), "the list of Pods has no items");
  EXPECT_EQ(DecodePodList("[]").status().message(), "the list of Pods is an array, not an object");
  EXPECT_EQ(DecodePodList(R"({"metadata":{"continue":7},"items":[]})").status().message(),
            "the list's metadata.continue is 7, not a string");
  EXPECT_EQ(DecodePodList(R"({"metadata":7,"items":null})").status().message(),
            "the list's metadata is 7, not an object");
  EXPECT_FALSE(DecodePodList("").ok());
}

}  // namespace
}  // namespace weft::kube
