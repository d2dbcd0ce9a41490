// SPDX-License-Identifier: Apache-2.0
// Patches of a Node's status, byte for byte as upstream v0.28.9 sends them. The status sub-resource
// also takes annotations; that is why flannel's role needs "nodes/status: patch" and no more.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "control/kube/client/http_exchange.h"
#include "control/kube/codec/api_status.h"

namespace weft::kube {

// Key to text, in the order in which Go writes a map.
using Annotations = std::map<std::string, std::string>;

// A strategic merge patch: keys that are not among them stay as they are, those with the empty text
// are removed.
std::string AnnotationsPatch(const Annotations& annotations);
// The condition NetworkUnavailable is False since `now`.
std::string NetworkAvailablePatch(absl::Time now);

// `node_name` is escaped as one segment of the path.
HttpRequest NodeStatusPatch(std::string_view node_name, std::string body);

// `subject`: what was to be written, "annotations". `answer` is no success.
std::string PatchFailure(std::string_view node_name, std::string_view subject,
                         const absl::StatusOr<ApiStatus>& answer);

}  // namespace weft::kube
