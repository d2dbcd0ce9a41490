// SPDX-License-Identifier: Apache-2.0
// The cluster's service CIDRs, as its API server names them.
#pragma once

#include <chrono>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "control/kube/client/cluster_servers.h"
#include "vxlan/ip_address.h"
#include "vxlan/ip_prefix.h"

namespace weft::cli {

// Of a ServiceCIDRList (networking.k8s.io/v1, since Kubernetes 1.33): spec.cidrs.
absl::StatusOr<std::vector<IpPrefix>> ServiceCidrsOf(std::string_view json);
// Of kubeadm's ConfigMap: networking.serviceSubnet in data.ClusterConfiguration.
absl::StatusOr<std::vector<IpPrefix>> KubeadmServiceCidrs(std::string_view json);

// From the first of the two that the server has. The error names both answers.
absl::StatusOr<std::vector<IpPrefix>> ReadServiceCidrs(kube::ClusterServers servers,
                                                       std::chrono::milliseconds limit);

// The IPv4 address of the Service kubernetes, which every cluster has: spec.clusterIPs, else
// spec.clusterIP. Upstream's role may not read it.
absl::StatusOr<IpAddress> ApiServiceOf(std::string_view json);
absl::StatusOr<IpAddress> ReadApiService(kube::ClusterServers servers,
                                         std::chrono::milliseconds limit);

}  // namespace weft::cli
