// SPDX-License-Identifier: Apache-2.0
// What `flannelctl cni` knows of this node: by its options, flanneld's service, the files that
// flanneld reads and writes, HNS and the API server.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "control/cni/plugin_config.h"
#include "control/kube/client/cluster_servers.h"
#include "control/net_conf.h"

namespace CLI {
class App;
}

namespace weft::cli {

// Empty paths, until CompleteFromService: those of flanneld's service, else its defaults.
struct FactOptions {
  std::string subnet_file, net_conf, store, state_dir;
  std::vector<std::string> services;
  std::string node_address, admin, hns;
  kube::ClusterFlags cluster;
};

// All but --state-dir.
void AddFactOptions(CLI::App& parser, FactOptions& options);

void CompleteFromService(FactOptions& options);

struct Known {
  cni::NodeFacts facts;
  std::vector<std::string> unknown;  // a sentence for each fact that is not known: cause, next step
  // Of --service-cidr: why it is not the cluster's, or why that could not be compared; else empty.
  std::string wrong_services, uncompared_services;
};

// `conf`: of options.net_conf.
Known ReadKnown(const FactOptions& options, const absl::StatusOr<control::NetConf>& conf,
                bool needs_address, bool needs_dsr);

}  // namespace weft::cli
