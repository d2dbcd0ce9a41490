// SPDX-License-Identifier: Apache-2.0
// Reads the node name of a Pod.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace weft::kube {

// spec.nodeName of a Pod in JSON. An error names what is wrong; kNotFound: the pod is not scheduled
// to a node yet.
absl::StatusOr<std::string> DecodePodNodeName(std::string_view pod);

}  // namespace weft::kube
