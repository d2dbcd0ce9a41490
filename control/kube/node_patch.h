// SPDX-License-Identifier: Apache-2.0
// Patches of a Node's status, byte for byte as upstream v0.28.9 sends them. The status sub-resource
// also accepts annotations, so flannel's role needs only "nodes/status: patch".
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "control/kube/client/http_exchange.h"
#include "control/kube/codec/api_status.h"

namespace weft::kube {

// Key to text, sorted as Go writes a map.
using Annotations = std::map<std::string, std::string>;

// A strategic merge patch: keys with an empty text are removed, absent keys are not changed.
std::string AnnotationsPatch(const Annotations& annotations);
// Sets the condition NetworkUnavailable to False since `now`.
std::string NetworkAvailablePatch(absl::Time now);

// `node_name` is escaped as one segment of the path.
HttpRequest NodeStatusPatch(std::string_view node_name, std::string body);

// `subject`: what the patch was to write, "annotations". `answer` is not a success.
std::string PatchFailure(std::string_view node_name, std::string_view subject,
                         const absl::StatusOr<ApiStatus>& answer);

}  // namespace weft::kube
