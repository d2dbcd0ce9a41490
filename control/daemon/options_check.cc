// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/options_check.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "control/daemon/pod_device.h"
#include "control/daemon/service.h"
#include "control/emulator/open_hns.h"
#include "control/lease/quoted.h"
#include "re2/re2.h"
#include "vxlan/ip_address.h"

namespace weft::daemon {
namespace {

absl::Status Wrong(std::string_view text) { return absl::InvalidArgumentError(text); }

absl::Status CheckLeaseSource(const Options& options) {
  if (options.kube_subnet_mgr && !options.lease_source.empty()) {
    return Wrong(absl::StrCat("--kube-subnet-mgr and --lease-source=", Shown(options.lease_source),
                              " both say where leases come from; give one of them"));
  }
  if (options.kube_subnet_mgr) return absl::OkStatus();
  if (options.lease_source.empty()) {
    return Wrong(
        "no source of leases: give --kube-subnet-mgr or --lease-source=file:PATH (without either "
        "upstream asks etcd, which flanneld does not speak)");
  }
  if (!absl::StartsWith(options.lease_source, "file:") || options.lease_source.size() == 5) {
    return Wrong(absl::StrCat("--lease-source=", Shown(options.lease_source),
                              " is not understood; write file:PATH"));
  }
  return absl::OkStatus();
}

// What can be known to be wrong before the host is read; an interface that is not there is waited
// for.
absl::Status CheckInterface(const Options& options) {
  const struct {
    std::string_view flag;
    const std::string& text;
    std::optional<IpFamily> family;
  } addresses[] = {{"--public-ip", options.public_ip, IpFamily::kV4},
                   {"--public-ipv6", options.public_ipv6, IpFamily::kV6},
                   {"--iface-can-reach", options.iface_can_reach, std::nullopt}};
  for (const auto& [flag, text, family] : addresses) {
    const std::optional<IpAddress> address = IpAddress::Parse(text);
    if (text.empty() || (address && (!family || address->family() == *family))) continue;
    return Wrong(absl::StrCat(flag, "=", text, " is not an ",
                              !family                    ? "IP"
                              : *family == IpFamily::kV4 ? "IPv4"
                                                         : "IPv6",
                              " address; correct it"));
  }
  for (const std::string& pattern : options.iface_regex) {
    if (const RE2 expression(pattern, RE2::Quiet); !expression.ok()) {
      return Wrong(absl::StrCat("--iface-regex=", pattern,
                                " is not a regular expression of RE2: ", expression.error()));
    }
  }
  return absl::OkStatus();
}

// What can stand in the path of a request as it is: client-go's rule, and nothing invisible.
bool IsObjectName(std::string_view name) {
  return !name.empty() && name.size() <= 253 && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return c > ' ' && c < '\x7f' && c != '/' && c != '%'; });
}

absl::Status CheckObjectName(std::string_view what, const std::string& name) {
  if (IsObjectName(name)) return absl::OkStatus();
  return Wrong(absl::StrCat(what, " ", lease::Quoted(name),
                            " is no name that the Kubernetes API takes; correct it"));
}

// Upstream's order, with --node-name before it.
absl::Status FindNode(Options& options, const Environment& environment) {
  if (options.node_name.empty()) options.node_name = environment("NODE_NAME").value_or("");
  if (!options.kube_subnet_mgr) {
    return options.node_name.empty()
               ? Wrong(
                     "this node's name is not known: set the variable NODE_NAME, or give "
                     "--node-name")
               : absl::OkStatus();
  }
  if (!options.node_name.empty())
    return CheckObjectName("the node's name (--node-name, NODE_NAME)", options.node_name);
  options.pod_name = environment("POD_NAME").value_or("");
  options.pod_namespace = environment("POD_NAMESPACE").value_or("");
  if (options.pod_name.empty() || options.pod_namespace.empty()) {
    const std::string_view half = !options.pod_name.empty()        ? " (POD_NAMESPACE is not set)"
                                  : !options.pod_namespace.empty() ? " (POD_NAME is not set)"
                                                                   : "";
    return Wrong(absl::StrCat(
        "this node's name is not known: set the variable NODE_NAME, give --node-name, or set "
        "POD_NAME and POD_NAMESPACE",
        half));
  }
  if (absl::Status status = CheckObjectName("the variable POD_NAME", options.pod_name);
      !status.ok())
    return status;
  return CheckObjectName("the variable POD_NAMESPACE", options.pod_namespace);
}

absl::Status CheckEmulator(std::string_view flag, const std::string& value) {
  if (value.empty() || emulator::IsEmulator(value)) return absl::OkStatus();
  return Wrong(absl::StrCat(flag, "=", Shown(value), " is not understood; write ", flag,
                            "=emulator:PATH, or leave it out for this machine's own"));
}

absl::Status CheckDataplane(const Options& options) {
  if (absl::Status status = CheckEmulator("--hns", options.hns); !status.ok()) return status;
  if (absl::Status status = CheckEmulator("--host", options.host); !status.ok()) return status;
  if (!options.host.empty() && options.dataplane == "userspace") {
    return Wrong(absl::StrCat("--host=", options.host,
                              " has no device for --dataplane=userspace; give hns, routes or none, "
                              "or leave --host out"));
  }
  if (options.dataplane == "hns" && options.hns.empty() && DefaultDataplane() != "hns") {
    return absl::UnimplementedError(
        "--dataplane=hns needs Windows; with --hns=emulator:PATH an emulator takes HNS's place");
  }
  return options.dataplane == "userspace" ? PodDeviceSupport() : absl::OkStatus();
}

}  // namespace

absl::Status CheckOptions(Options& options, const Environment& environment) {
  if (options.subnet_lease_renew_margin < 1 || options.subnet_lease_renew_margin > 1439) {
    return Wrong(absl::StrCat("--subnet-lease-renew-margin=", options.subnet_lease_renew_margin,
                              " must lie in 1..1439 (minutes of a day)"));
  }
  if (absl::Status status = CheckInterface(options); !status.ok()) return status;
  if (absl::Status status = CheckLeaseSource(options); !status.ok()) return status;
  if (absl::Status status = FindNode(options, environment); !status.ok()) return status;
  if (options.dataplane.empty()) options.dataplane = DefaultDataplane();
  return CheckDataplane(options);
}

control::VxlanDefaults DefaultsFor(const Options& options) {
  const bool hns = options.dataplane == "hns" || DefaultDataplane() == "hns";
  return hns ? control::kHnsDefaults : control::kLinuxDefaults;
}

absl::Status CheckForDataplane(Options& options, control::NetConf& conf) {
  const bool is_vxlan = conf.type == control::BackendType::kVxlan;
  if (options.dataplane == "routes" && is_vxlan) {
    return absl::InvalidArgumentError(
        "Backend.Type: \"vxlan\" of net-conf needs a tunnel, and --dataplane=routes has none: use "
        "--dataplane=userspace, or write \"host-gw\" for all nodes");
  }
  if (options.dataplane == "hns" && conf.direct_routing) {
    return absl::InvalidArgumentError(
        "Backend.DirectRouting: true of net-conf cannot be had with --dataplane=hns: an HNS "
        "overlay "
        "network takes nothing that comes around its tunnel; remove the key for all nodes");
  }
  if (options.dataplane == "userspace" && conf.type == control::BackendType::kHostGw)
    options.dataplane = "routes";
  const bool has_hns = options.dataplane == "hns" || !options.hns.empty();
  if (!has_hns || conf.type == control::BackendType::kAlloc) return absl::OkStatus();
  if (!conf.enable_ipv4) {
    return absl::InvalidArgumentError(
        "EnableIPv4: false in net-conf leaves IPv6 alone, and HNS has no network of IPv6: "
        "enable IPv4 for this cluster, or keep its pods off Windows nodes");
  }
  if (options.dataplane == "hns") control::LeaveOutIPv6(conf);
  return is_vxlan ? control::CheckForHns(conf) : absl::OkStatus();
}

}  // namespace weft::daemon
