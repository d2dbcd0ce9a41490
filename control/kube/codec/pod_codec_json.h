// SPDX-License-Identifier: Apache-2.0
// The one thing a pod tells of itself that matters here: its node.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace weft::kube {

// spec.nodeName of a Pod in JSON. An error says what is not as it should be; kNotFound: the pod is
// not on a node yet.
absl::StatusOr<std::string> DecodePodNodeName(std::string_view pod);

}  // namespace weft::kube
