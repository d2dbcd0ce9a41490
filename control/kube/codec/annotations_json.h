// SPDX-License-Identifier: Apache-2.0
// Reads the annotations of one object.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace weft::kube {

// metadata.annotations of an object in JSON, all of them; none if it has none. An error names what
// is wrong.
absl::StatusOr<std::map<std::string, std::string>> DecodeAnnotations(std::string_view text);

}  // namespace weft::kube
