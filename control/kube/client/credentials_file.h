// SPDX-License-Identifier: Apache-2.0
// Files with credentials, read again whenever they are needed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "control/kube/client/cluster_access.h"

namespace weft::kube {

// The limit for a credentials file or kubeconfig, in bytes; a larger file is a wrong one.
inline constexpr std::size_t kLargestCredentialsFile = std::size_t{4} << 20;

// The whole text of the file at `path` (UTF-8). The message is to follow the path: "cannot be
// opened: No such file or directory".
absl::StatusOr<std::string> ReadCredentialsFile(const std::string& path);

// The secret's text. `what` names it in the message: "client key". kUnauthenticated: its file
// cannot be read; kInvalidArgument: it is empty.
absl::StatusOr<std::string> ReadSecret(const Secret& secret, std::string_view what);

}  // namespace weft::kube
