// SPDX-License-Identifier: Apache-2.0
#include "control/kube/codec/pod_list_json.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/kube/codec/json_value.h"

namespace weft::kube {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

// A member that is absent or null is false.
absl::StatusOr<bool> BoolMember(object of, std::string_view key, std::string_view field) {
  const std::optional<element> value = Find(of, key);
  if (!value) return false;
  if (!value->is_bool())
    return absl::InvalidArgumentError(absl::StrCat(field, " is ", Show(*value), ", not a bool"));
  return value->get_bool().value_unsafe();
}

absl::StatusOr<bool> IsOfDaemonSet(object metadata) {
  const std::optional<element> owners = Find(metadata, "ownerReferences");
  if (!owners) return false;
  const auto rows = AsArray(*owners, "metadata.ownerReferences");
  if (!rows.ok()) return rows.status();
  for (const element each : *rows) {
    const auto row = AsObject(each, "an ownerReference");
    if (!row.ok()) return row.status();
    const auto kind = StringMember(*row, "kind", "ownerReferences.kind");
    if (!kind.ok()) return kind.status();
    const auto controller = BoolMember(*row, "controller", "ownerReferences.controller");
    if (!controller.ok()) return controller.status();
    if (*kind == "DaemonSet" && *controller) return true;
  }
  return false;
}

absl::Status Read(object pod, ListedPod& into) {
  const auto metadata = ObjectMember(pod, "metadata", "metadata");
  if (!metadata.ok()) return metadata.status();
  if (!*metadata) return absl::InvalidArgumentError("it has no metadata");
  const auto name = StringMember(**metadata, "name", "metadata.name");
  if (!name.ok()) return name.status();
  if (name->empty()) return absl::InvalidArgumentError("it has no name");
  const auto space = StringMember(**metadata, "namespace", "metadata.namespace");
  if (!space.ok()) return space.status();
  into.name = absl::StrCat(*space, "/", *name);
  const auto annotations = ObjectMember(**metadata, "annotations", "metadata.annotations");
  if (!annotations.ok()) return annotations.status();
  into.mirror = *annotations && Find(**annotations, "kubernetes.io/config.mirror");
  const auto daemon_set = IsOfDaemonSet(**metadata);
  if (!daemon_set.ok()) return daemon_set.status();
  into.daemon_set = *daemon_set;
  const auto spec = ObjectMember(pod, "spec", "spec");
  if (!spec.ok()) return spec.status();
  if (*spec) {
    const auto host = BoolMember(**spec, "hostNetwork", "spec.hostNetwork");
    if (!host.ok()) return host.status();
    into.host_network = *host;
  }
  const auto status = ObjectMember(pod, "status", "status");
  if (!status.ok()) return status.status();
  if (*status) {
    const auto phase = StringMember(**status, "phase", "status.phase");
    if (!phase.ok()) return phase.status();
    into.terminated = *phase == "Succeeded" || *phase == "Failed";
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ListedPods> DecodePodList(std::string_view list) {
  simdjson::dom::parser parser;
  element root;
  if (const auto error = parser.parse(list.data(), list.size()).get(root);
      error != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(
        absl::StrCat("the list of Pods is not JSON: ", simdjson::error_message(error)));
  }
  const auto top = AsObject(root, "the list of Pods");
  if (!top.ok()) return top.status();
  ListedPods listed;
  const auto metadata = ObjectMember(*top, "metadata", "the list's metadata");
  if (!metadata.ok()) return metadata.status();
  if (*metadata) {
    const auto next = StringMember(**metadata, "continue", "the list's metadata.continue");
    if (!next.ok()) return next.status();
    listed.next = std::string(*next);
  }
  // A server writes [] or null for no Pods; without the member it is no list.
  bool has_items = false;
  for (const auto [key, value] : *top) has_items = has_items || key == "items";
  if (!has_items) return absl::InvalidArgumentError("the list of Pods has no items");
  const std::optional<element> items = Find(*top, "items");
  if (!items) return listed;
  const auto rows = AsArray(*items, "the list's items");
  if (!rows.ok()) return rows.status();
  for (const element each : *rows) {
    const auto pod = AsObject(each, "a Pod of the list");
    if (!pod.ok()) return pod.status();
    ListedPod read;
    if (const absl::Status status = Read(*pod, read); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Pod ", read.name.empty() ? "of the list" : read.name, ": ", status.message()));
    }
    listed.pods.push_back(std::move(read));
  }
  return listed;
}

}  // namespace weft::kube
