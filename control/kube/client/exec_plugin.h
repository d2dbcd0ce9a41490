// SPDX-License-Identifier: Apache-2.0
// A kubeconfig's exec credential plugin (client.authentication.k8s.io/v1 and v1beta1): what it is
// given, and what it prints. Text to values, no processes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace weft::kube {

struct ClusterAccess;

struct ExecPlugin {
  std::string command;  // an absolute path, or a name without separators, found in PATH
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;  // added to the process's environment
  std::string api_version;                               // with its group
  std::string install_hint;  // shown when the command does not exist; may have several lines
  bool provide_cluster_info = false;
  // With it: JSON, of the cluster's extension "client.authentication.k8s.io/exec"; empty: none.
  std::string cluster_config;
  std::string kubeconfig;  // the file that names the plugin
};

// Secrets: never printed.
struct ExecCredential {
  std::string token;
  std::string client_certificate, client_key;  // PEM; both or none
  std::optional<absl::Time> expires;
};

// The value of KUBERNETES_EXEC_INFO. `ca`: PEM; used with provide_cluster_info only.
std::string ExecInfo(const ExecPlugin& plugin, const ClusterAccess& access, const std::string& ca);

// What the plugin printed. Errors name the field, never its value.
absl::StatusOr<ExecCredential> ParseExecCredential(std::string_view text,
                                                   std::string_view api_version);

}  // namespace weft::kube
