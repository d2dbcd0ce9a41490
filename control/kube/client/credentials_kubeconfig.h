// SPDX-License-Identifier: Apache-2.0
// Reads the current context of a kubeconfig in YAML or JSON.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "control/kube/client/cluster_access.h"

namespace weft::kube {

// `file`: absolute path of the kubeconfig, for messages and for the paths in it. `api_url`: if not
// empty, it replaces the cluster's server (and removes its tls-server-name, as upstream does).
//
// As in upstream v0.28.9: inline data take precedence over files, tokenFile over token; credentials
// are not sent over "http://". Unknown fields are ignored; auth-provider, impersonation, and exec
// plugins that need a terminal are refused.
absl::StatusOr<ClusterAccess> ParseKubeconfig(std::string_view text, const std::string& file,
                                              const std::string& api_url);

// `own` with the address of the current context's server and its tls-server-name; nothing else of
// the kubeconfig `file` is read, whatever users, certificates and tokens it has. Only "https://".
absl::StatusOr<ClusterAccess> WithKubeletServer(std::string_view text, const std::string& file,
                                                const ClusterAccess& own);

}  // namespace weft::kube
