// SPDX-License-Identifier: Apache-2.0
// Any bytes as a list of Pods and as an object with annotations: refused in one line, or values
// that a document made of them gives again.
#include <cstdint>
#include <string>

#include "control/kube/codec/objects_json.h"
#include "nlohmann/json.hpp"
#include "tests/fuzz/input.h"
#include "tests/fuzz/lease_promises.h"

namespace {

using Json = nlohmann::json;
using weft::fuzz::Require;

Json PodFrom(const weft::kube::ListedPod& pod) {
  const std::size_t slash = pod.name.find('/');
  Json json = {{"metadata",
                {{"namespace", pod.name.substr(0, slash)}, {"name", pod.name.substr(slash + 1)}}},
               {"spec", {{"hostNetwork", pod.host_network}}},
               {"status", {{"phase", pod.terminated ? "Failed" : "Running"}}}};
  if (pod.mirror) json["metadata"]["annotations"]["kubernetes.io/config.mirror"] = "x";
  if (pod.daemon_set)
    json["metadata"]["ownerReferences"] = {{{"kind", "DaemonSet"}, {"controller", true}}};
  return json;
}

void CheckPods(const std::string& text) {
  const auto listed = weft::kube::DecodePodList(text);
  if (!listed.ok()) return weft::fuzz::CheckMessage(listed.status().message());
  Json list = {{"metadata", {{"continue", listed->next}}}, {"items", Json::array()}};
  for (const weft::kube::ListedPod& pod : listed->pods) {
    Require(pod.name.find('/') != std::string::npos, "namespace/name");
    if (pod.name.find('/') != pod.name.rfind('/')) return;  // no name of Kubernetes
    list["items"].push_back(PodFrom(pod));
  }
  const auto again = weft::kube::DecodePodList(list.dump());
  Require(again.ok() && again->pods == listed->pods && again->next == listed->next,
          "the same list again");
}

void CheckAnnotations(const std::string& text) {
  const auto all = weft::kube::DecodeAnnotations(text);
  if (!all.ok()) return weft::fuzz::CheckMessage(all.status().message());
  const Json object = {{"metadata", {{"annotations", *all}}}};
  const auto again = weft::kube::DecodeAnnotations(object.dump());
  Require(again.ok() && *again == *all, "the same annotations again");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);  // as its callers have it: never null
  CheckPods(text);
  CheckAnnotations(text);
  return 0;
}
