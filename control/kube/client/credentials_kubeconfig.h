// SPDX-License-Identifier: Apache-2.0
// What a kubeconfig's current context says, in YAML or JSON.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "control/kube/client/cluster_access.h"

namespace weft::kube {

// `file`: absolute path of the kubeconfig, for messages and for the paths in it. `api_url`: empty,
// or goes over the cluster's server (and leaves its tls-server-name out, as upstream does).
//
// Taken as upstream v0.28.9 takes them: inline data go over files, tokenFile over token;
// credentials are not sent over "http://". Fields that nothing here knows are ignored; exec,
// auth-provider and impersonation are refused.
absl::StatusOr<ClusterAccess> ParseKubeconfig(std::string_view text, const std::string& file,
                                              const std::string& api_url);

}  // namespace weft::kube
