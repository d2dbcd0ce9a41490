// SPDX-License-Identifier: Apache-2.0
#include "control/kube/codec/objects_json.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "control/kube/codec/json_value.h"
#include "vxlan/text/printable.h"

namespace weft::kube {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;
using simdjson::dom::parser;

// `what` names it in errors. Valid as long as `memory`.
absl::StatusOr<object> ParseObject(parser& memory, std::string_view text, std::string_view what) {
  element root;
  if (const auto error = memory.parse(text.data(), text.size()).get(root);
      error != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " is not JSON: ", simdjson::error_message(error)));
  }
  return AsObject(root, what);
}

// Reads members, which may be absent or null; the first error stays in `status`.
class Members {
 public:
  explicit Members(absl::Status& status) : status_(status) {}

  std::string_view Text(object of, std::string_view key, std::string_view field) const {
    return Keep(StringMember(of, key, field));
  }
  std::optional<object> Object(object of, std::string_view key, std::string_view field) const {
    return Keep(ObjectMember(of, key, field));
  }
  bool Bool(object of, std::string_view key, std::string_view field) const {
    const std::optional<element> value = Find(of, key);
    if (!value || value->is_bool()) return value && value->get_bool().value_unsafe();
    status_.Update(
        absl::InvalidArgumentError(absl::StrCat(field, " is ", Show(*value), ", not a bool")));
    return false;
  }
  // `item` names each of the objects in a list.
  void Objects(element list, std::string_view field, std::string_view item,
               const auto& each) const {
    const auto rows = AsArray(list, field);
    if (!rows.ok()) return status_.Update(rows.status());
    for (const element row : *rows) {
      const auto read = AsObject(row, item);
      status_.Update(read.status());
      if (!status_.ok()) return;
      each(*read);
    }
  }

 private:
  template <typename T>
  T Keep(absl::StatusOr<T> read) const {
    status_.Update(read.status());
    return read.ok() ? *std::move(read) : T();
  }

  absl::Status& status_;
};

bool IsOfDaemonSet(object metadata, const Members& members) {
  bool found = false;
  if (const std::optional<element> owners = Find(metadata, "ownerReferences")) {
    members.Objects(*owners, "metadata.ownerReferences", "an ownerReference", [&](object row) {
      const bool controls = members.Bool(row, "controller", "ownerReferences.controller");
      if (members.Text(row, "kind", "ownerReferences.kind") == "DaemonSet" && controls)
        found = true;
    });
  }
  return found;
}

absl::Status Read(object pod, ListedPod& into) {
  absl::Status status;
  const Members members(status);
  const std::optional<object> metadata = members.Object(pod, "metadata", "metadata");
  if (!status.ok()) return status;
  if (!metadata) return absl::InvalidArgumentError("it has no metadata");
  const std::string_view name = members.Text(*metadata, "name", "metadata.name");
  const std::string_view space = members.Text(*metadata, "namespace", "metadata.namespace");
  if (!status.ok()) return status;
  if (name.empty()) return absl::InvalidArgumentError("it has no name");
  into.name = absl::StrCat(space, "/", name);
  const auto annotations = members.Object(*metadata, "annotations", "metadata.annotations");
  into.mirror = annotations && Find(*annotations, "kubernetes.io/config.mirror");
  into.daemon_set = IsOfDaemonSet(*metadata, members);
  if (const auto spec = members.Object(pod, "spec", "spec"))
    into.host_network = members.Bool(*spec, "hostNetwork", "spec.hostNetwork");
  if (const auto state = members.Object(pod, "status", "status")) {
    const std::string_view phase = members.Text(*state, "phase", "status.phase");
    into.terminated = phase == "Succeeded" || phase == "Failed";
  }
  return status;
}

}  // namespace

absl::StatusOr<std::map<std::string, std::string>> DecodeAnnotations(std::string_view text) {
  parser memory;
  const auto root = ParseObject(memory, text, "the object");
  if (!root.ok()) return root.status();
  absl::Status status;
  const Members members(status);
  const std::optional<object> metadata = members.Object(*root, "metadata", "metadata");
  if (!status.ok()) return status;
  if (!metadata) return absl::InvalidArgumentError("the object has no metadata");
  const auto annotations = members.Object(*metadata, "annotations", "metadata.annotations");
  if (!status.ok()) return status;
  std::map<std::string, std::string> all;
  if (!annotations) return all;
  for (const auto [key, value] : *annotations) {
    const auto read = AsString(value, absl::StrCat("the annotation ", Quoted(key)));
    if (!read.ok()) return read.status();
    all[std::string(key)] = std::string(*read);
  }
  return all;
}

absl::StatusOr<std::string> DecodePodNodeName(std::string_view pod) {
  parser memory;
  const auto root = ParseObject(memory, pod, "the Pod");
  if (!root.ok()) return root.status();
  const auto spec = ObjectMember(*root, "spec", "spec");
  if (!spec.ok()) return spec.status();
  if (!*spec) return absl::InvalidArgumentError("the Pod has no spec");
  const auto name = StringMember(**spec, "nodeName", "spec.nodeName");
  if (!name.ok()) return name.status();
  if (name->empty()) return absl::NotFoundError("the Pod is not on a node yet");
  return std::string(*name);
}

absl::StatusOr<ListedPods> DecodePodList(std::string_view list) {
  parser memory;
  const auto root = ParseObject(memory, list, "the list of Pods");
  if (!root.ok()) return root.status();
  absl::Status status;
  const Members members(status);
  ListedPods listed;
  if (const auto metadata = members.Object(*root, "metadata", "the list's metadata"))
    listed.next = members.Text(*metadata, "continue", "the list's metadata.continue");
  // A server writes [] or null for no Pods; without the member it is no list.
  bool has_items = false;
  for (const auto [key, value] : *root) has_items = has_items || key == "items";
  if (!has_items) return absl::InvalidArgumentError("the list of Pods has no items");
  const auto read_pod = [&](object pod) {
    ListedPod& read = listed.pods.emplace_back();
    if (const absl::Status wrong = Read(pod, read); !wrong.ok()) {
      status = absl::InvalidArgumentError(absl::StrCat(
          "Pod ", read.name.empty() ? "of the list" : read.name, ": ", wrong.message()));
    }
  };
  if (const std::optional<element> items = Find(*root, "items"))
    members.Objects(*items, "the list's items", "a Pod of the list", read_pod);
  if (!status.ok()) return status;
  return listed;
}

std::optional<std::int64_t> DecodeTokenExpiry(std::string_view token) {
  const std::vector<std::string_view> parts = absl::StrSplit(token, '.');
  std::string claims;
  if (parts.size() != 3 || !absl::WebSafeBase64Unescape(parts[1], &claims)) return std::nullopt;
  parser memory;
  const auto root = ParseObject(memory, claims, "it");
  const std::optional<element> expiry = root.ok() ? Find(*root, "exp") : std::nullopt;
  if (!expiry || !expiry->is_int64()) return std::nullopt;
  return expiry->get_int64().value_unsafe();
}

}  // namespace weft::kube
