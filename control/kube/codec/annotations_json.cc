// SPDX-License-Identifier: Apache-2.0
#include "control/kube/codec/annotations_json.h"

#include "absl/strings/str_cat.h"
#include "control/kube/codec/json_value.h"
#include "vxlan/text/printable.h"

namespace weft::kube {

absl::StatusOr<std::map<std::string, std::string>> DecodeAnnotations(std::string_view text) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (const auto error = parser.parse(text.data(), text.size()).get(root);
      error != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(
        absl::StrCat("the object is not JSON: ", simdjson::error_message(error)));
  }
  const auto object = AsObject(root, "the object");
  if (!object.ok()) return object.status();
  const auto metadata = ObjectMember(*object, "metadata", "metadata");
  if (!metadata.ok()) return metadata.status();
  if (!*metadata) return absl::InvalidArgumentError("the object has no metadata");
  const auto annotations = ObjectMember(**metadata, "annotations", "metadata.annotations");
  if (!annotations.ok()) return annotations.status();
  std::map<std::string, std::string> all;
  if (!*annotations) return all;
  for (const auto [key, value] : **annotations) {
    const auto read = AsString(value, absl::StrCat("the annotation ", Quoted(key)));
    if (!read.ok()) return read.status();
    all[std::string(key)] = std::string(*read);
  }
  return all;
}

}  // namespace weft::kube
