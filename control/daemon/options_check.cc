// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/options_check.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "control/daemon/pod_device.h"
#include "control/daemon/service.h"

namespace weft::daemon {
namespace {

absl::Status Wrong(std::string_view text) { return absl::InvalidArgumentError(text); }

absl::Status CheckLeaseSource(const Options& options) {
  if (options.kube_subnet_mgr) {
    return absl::UnimplementedError(
        "--kube-subnet-mgr: reading leases from the Kubernetes API is not built yet; give a file "
        "of Node objects with "
        "--lease-source=file:PATH");
  }
  if (options.lease_source.empty()) {
    return Wrong(
        "no source of leases: give --lease-source=file:PATH (without --kube-subnet-mgr upstream "
        "asks etcd, "
        "which flanneld does not speak)");
  }
  if (!absl::StartsWith(options.lease_source, "file:") || options.lease_source.size() == 5) {
    return Wrong(absl::StrCat("--lease-source=", options.lease_source,
                              " is not understood; write file:PATH"));
  }
  return absl::OkStatus();
}

absl::Status CheckDataplane(const Options& options) {
  if (options.dataplane == "hns") {
    return absl::UnimplementedError(
        "--dataplane=hns is not built yet; --dataplane=none takes the lease and writes subnet.env "
        "only");
  }
  if (options.dataplane == "routes") {
    return absl::UnimplementedError(
        "--dataplane=routes is not built yet; use --dataplane=userspace or none");
  }
  return options.dataplane == "userspace" ? PodDeviceSupport() : absl::OkStatus();
}

}  // namespace

absl::Status CheckOptions(Options& options, const Environment& environment) {
  if (options.subnet_lease_renew_margin < 1 || options.subnet_lease_renew_margin > 1439) {
    return Wrong(absl::StrCat("--subnet-lease-renew-margin=", options.subnet_lease_renew_margin,
                              " must lie in 1..1439 (minutes of a day)"));
  }
  if (options.healthz_port > 65535) {
    return Wrong(
        absl::StrCat("--healthz-port=", options.healthz_port, " is no port; the highest is 65535"));
  }
  if (absl::Status status = CheckLeaseSource(options); !status.ok()) return status;
  if (options.node_name.empty()) options.node_name = environment("NODE_NAME").value_or("");
  if (options.node_name.empty()) {
    return Wrong("this node's name is not known: set the variable NODE_NAME, or give --node-name");
  }
  if (options.dataplane.empty()) options.dataplane = DefaultDataplane();
  return CheckDataplane(options);
}

}  // namespace weft::daemon
