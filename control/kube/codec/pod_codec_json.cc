// SPDX-License-Identifier: Apache-2.0
#include "control/kube/codec/pod_codec_json.h"

#include "absl/strings/str_cat.h"
#include "control/kube/codec/json_value.h"

namespace weft::kube {

absl::StatusOr<std::string> DecodePodNodeName(std::string_view pod) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (const auto error = parser.parse(pod.data(), pod.size()).get(root);
      error != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(
        absl::StrCat("the Pod is not JSON: ", simdjson::error_message(error)));
  }
  const auto object = AsObject(root, "the Pod");
  if (!object.ok()) return object.status();
  const auto spec = ObjectMember(*object, "spec", "spec");
  if (!spec.ok()) return spec.status();
  if (!*spec) return absl::InvalidArgumentError("the Pod has no spec");
  const auto name = StringMember(**spec, "nodeName", "spec.nodeName");
  if (!name.ok()) return name.status();
  if (name->empty()) return absl::NotFoundError("the Pod is not on a node yet");
  return std::string(*name);
}

}  // namespace weft::kube
