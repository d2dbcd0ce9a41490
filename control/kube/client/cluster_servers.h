// SPDX-License-Identifier: Apache-2.0
// The API servers of one cluster, each with our credentials.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "control/kube/client/cluster_access.h"

namespace weft::kube {

struct ClusterServers {
  ClusterServers() = default;
  ClusterServers(ClusterAccess only) : servers{std::move(only)} {}  // NOLINT: a conversion

  std::vector<ClusterAccess> servers;  // at least one
  // In a pod: called each time when no other server works; the error names the file. Empty: none.
  std::function<absl::StatusOr<ClusterAccess>()> fallback = {};
  std::string fallback_name = {};  // for people
};

struct ClusterFlags {
  std::string kubeconfig_file;
  std::vector<std::string> api_urls;  // each one URL, or several with commas between them
  std::string kubelet_kubeconfig;     // of the fallback; empty: none
};

// ReadClusterAccess for each URL. What the operator names is the only cluster: without a name the
// pod's service account is used, with the service's address, and while that does not answer with
// the address in the kubelet's kubeconfig.
absl::StatusOr<ClusterServers> ReadClusterServers(const ClusterFlags& flags,
                                                  const Environment& environment);

// `own` with the server's address, and nothing else, from the kubeconfig `file` of the kubelet
// (under CONTAINER_SANDBOX_MOUNT_POINT, if it exists there). The credentials and the CA in that
// file are not used. Refused: a link, a file of another user or that others may write, "http://".
absl::StatusOr<ClusterAccess> ReadKubeletServer(const std::string& file, const ClusterAccess& own,
                                                const Environment& environment);

// Identifies a cluster: the SHA-256 of each public key of the servers' CAs; where a server has
// no CA of its own, its name. Reads the CA files now; a file that cannot be read adds nothing.
std::set<std::string> ClusterKeys(const ClusterServers& servers);

}  // namespace weft::kube
