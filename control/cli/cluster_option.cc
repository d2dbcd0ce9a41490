// SPDX-License-Identifier: Apache-2.0
#include "control/cli/cluster_option.h"

#include <utility>

#include "control/cli/parser.h"
#include "control/command_line.h"
#include "control/config/options.h"

namespace weft::cli {

void AddClusterOptions(CLI::App& parser, ClusterOptions& options) {
  const auto add = [&](const char* name, auto& value, const char* help, const char* type) {
    return parser.add_option(name, value, help)->type_name(type);
  };
  add("--node-name", options.node_name, "The Node's name; else the variable NODE_NAME", "NAME");
  add("--kubeconfig-file", options.kubeconfig_file,
      "Credentials for the API server; without this and --kube-api-url, the pod's service account",
      "PATH");
  add("--kube-api-url", options.api_urls,
      "The API server, https://HOST:PORT, overrides the kubeconfig's; may be repeated", "URL")
      ->allow_extra_args(false);
  add("--kubelet-kubeconfig", options.kubelet_kubeconfig,
      "In a pod: has the API server's address to use while the Kubernetes service does not answer; "
      "as flanneld's",
      "PATH");
  add("--kube-annotation-prefix", options.annotation_prefix,
      "Prefix of flannel's annotations, as flanneld's", "PREFIX");
}

absl::StatusOr<Cluster> ReadCluster(const ClusterOptions& given) {
  auto flags = config::ParseFlags({}, control::Variable);  // the variables alone
  if (!flags.ok()) return flags.status();
  config::FlagValues values;
  const config::FlagValues& variables = flags->values;
  const auto either = [](const std::string& option, const std::string& variable) {
    return option.empty() ? variable : option;
  };
  values.kube_subnet_mgr = true;
  values.node_name = either(given.node_name, variables.node_name);
  values.kubeconfig_file = either(given.kubeconfig_file, variables.kubeconfig_file);
  values.kube_api_url = given.api_urls.empty() ? variables.kube_api_url : given.api_urls;
  values.kubelet_kubeconfig = either(given.kubelet_kubeconfig, variables.kubelet_kubeconfig);
  values.kube_annotation_prefix = either(given.annotation_prefix, variables.kube_annotation_prefix);
  const auto options = config::MakeOptions(values, control::Variable);
  if (!options.ok()) return options.status();
  if (options->node_name.empty()) {
    return absl::InvalidArgumentError(
        "the Node's name is not known: give --node-name, or set the variable NODE_NAME");
  }
  Cluster cluster;
  cluster.node_name = options->node_name;
  auto keys = kube::AnnotationKeys::Of(options->kube_annotation_prefix);
  if (!keys.ok()) return keys.status();
  cluster.keys = *std::move(keys);
  auto servers = kube::ReadClusterServers(
      {options->kubeconfig_file, options->kube_api_url, options->kubelet_kubeconfig},
      control::Variable);
  if (!servers.ok()) return servers.status();
  cluster.servers = *std::move(servers);
  return cluster;
}

}  // namespace weft::cli
