// SPDX-License-Identifier: Apache-2.0
// For verbs that send requests to the API server: flanneld's flags and variables for it.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "control/kube/client/cluster_servers.h"
#include "control/kube/codec/annotation_keys.h"

namespace CLI {
class App;
}

namespace weft::cli {

// Empty: as flanneld's variables FLANNELD_... and NODE_NAME say, else its defaults.
struct ClusterOptions {
  std::string node_name, kubeconfig_file, kubelet_kubeconfig, annotation_prefix;
  std::vector<std::string> api_urls;
};

// Adds --node-name, --kubeconfig-file, --kube-api-url, --kubelet-kubeconfig and
// --kube-annotation-prefix.
void AddClusterOptions(CLI::App& parser, ClusterOptions& options);

struct Cluster {
  std::string node_name;
  kube::AnnotationKeys keys;
  kube::ClusterServers servers;
};
// Refuses what flanneld refuses; a Node's name is required.
absl::StatusOr<Cluster> ReadCluster(const ClusterOptions& options);

}  // namespace weft::cli
