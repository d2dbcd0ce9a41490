// SPDX-License-Identifier: Apache-2.0
// A server's address, as kubeconfig and flag give it, in a ClusterAccess.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "control/kube/client/cluster_access.h"

namespace weft::kube {

// Sets tls, host, port and path of `access` from a server's address. One without a scheme is https
// when `access` already has something that only TLS needs. Errors begin with `field`.
absl::Status SetServer(std::string_view url, std::string_view field, ClusterAccess& access);

}  // namespace weft::kube
