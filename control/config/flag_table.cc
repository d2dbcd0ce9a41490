// SPDX-License-Identifier: Apache-2.0
#include "control/config/flag_table.h"

#include "absl/strings/str_cat.h"

namespace weft::config {
namespace {

using V = FlagValues;
constexpr FlagGroup kLeases = FlagGroup::kLeases, kInterface = FlagGroup::kInterface,
                    kDataPlane = FlagGroup::kDataPlane, kOutputs = FlagGroup::kOutputs,
                    kLogs = FlagGroup::kLogs, kCompatible = FlagGroup::kCompatible;

constexpr FlagRow kTable[] = {
    {kLeases, "kube-subnet-mgr", &V::kube_subnet_mgr, "",
     "read the leases from the Kubernetes API, and publish this node's there"},
    {kLeases, "lease-source", &V::lease_source, "file:PATH",
     "read the leases from a file of Node objects, as `kubectl get nodes -o json` prints them; "
     "changes are followed"},
    {kLeases, "net-config-path", &V::net_config_path, "PATH", "the network's configuration"},
    {kLeases, "node-name", &V::node_name, "NAME",
     "this node's name; else the variable NODE_NAME; else that of the node which the pod POD_NAME "
     "in "
     "POD_NAMESPACE runs on"},
    {kLeases, "kubeconfig-file", &V::kubeconfig_file, "PATH",
     "credentials for the API server; with neither this nor --kube-api-url those of the pod count"},
    {kLeases, "kube-api-url", &V::kube_api_url, "URL",
     "the API server; overrides the kubeconfig's"},
    {kLeases, "kube-annotation-prefix", &V::kube_annotation_prefix, "PREFIX",
     "of the annotations on Node objects"},
    {kLeases, "set-node-network-unavailable", &V::set_node_network_unavailable, "",
     "set the node's condition NetworkUnavailable to False once ready"},

    {kInterface, "iface", &V::iface, "IP|NAME",
     "the interface for traffic between nodes, by address or exact name; may be repeated, the "
     "first that fits is taken"},
    {kInterface, "iface-regex", &V::iface_regex, "RE2",
     "the same by a regular expression, on addresses first and then on names; tried after every "
     "--iface"},
    {kInterface, "iface-can-reach", &V::iface_can_reach, "IP",
     "the same by the route to this address; tried last"},
    {kInterface, "public-ip", &V::public_ip, "IP",
     "the address told to peers; else the interface's"},
    {kInterface, "public-ipv6", &V::public_ipv6, "IP", "the same for IPv6"},

    {kDataPlane, "dataplane", &V::dataplane, "userspace|none|hns|routes",
     "who moves the packets: userspace is flanneld itself; routes are the host's own to each peer, "
     "with Backend.Type host-gw only, where userspace means the same; hns is Windows' Host Network "
     "Service; none "
     "takes the lease and writes subnet.env only (default userspace, on Windows hns)"},
    {kDataPlane, "hns", &V::hns, "emulator:PATH",
     "on Linux, for development: the HNS to program is the emulator that `flannelctl hns emulate` "
     "serves on the socket PATH; next to userspace it follows: it receives what a Windows node's "
     "would have"},
    {kDataPlane, "hns-base-network", &V::hns_base_network, "",
     "keep a persistent network in HNS, so that, where the NIC keeps its identity, only the first "
     "start ever cuts the node off for some seconds, and no reboot"},
    {kDataPlane, "peer-check", &V::peer_check, "strict|lease|off",
     "what the sender of a received packet must be: strict, the lease that holds the inner source; "
     "lease, any lease's "
     "address; off, anybody"},
    {kDataPlane, "udp-checksum", &V::udp_checksum, "",
     "fill in the UDP checksum of outer IPv4 packets; IPv6 always has it"},
    {kDataPlane, "ip-masq", &V::ip_masq, "",
     "masquerade what pods send out of the cluster, by nftables' table inet weft, and write "
     "FLANNEL_IPMASQ=true to subnet.env; on Windows the CNI plugin masquerades"},
    {kDataPlane, "ip-masq-fully-random-disable", &V::ip_masq_fully_random_disable, "",
     "let the kernel choose the source ports of what is masqueraded in its usual way; Linux"},
    {kDataPlane, "iptables-forward-rules", &V::iptables_forward_rules, "",
     "have chain FORWARD of iptables, where the host has one, accept what pods send and receive; "
     "Linux"},
    {kDataPlane, "iptables-resync", &V::iptables_resync, "SECONDS",
     "how often these rules are read in iptables-legacy, which reports no changes; Linux"},
    {kDataPlane, "replace-kernel-device", &V::replace_kernel_device, "",
     "delete the vxlan device flannel.VNI that upstream flannel leaves in the kernel, if it has "
     "our VNI; Linux"},

    {kOutputs, "subnet-file", &V::subnet_file, "PATH", "where the CNI plugin reads subnet and MTU"},
    {kOutputs, "healthz-ip", &V::healthz_ip, "IP", "where /healthz and /readyz are answered"},
    {kOutputs, "healthz-port", &V::healthz_port, "PORT", "0 or less: nowhere"},
    {kOutputs, "admin", &V::admin, "PATH",
     "socket or pipe that flannelctl asks; none: no such socket (default /run/flannel/weft.sock, "
     "on Windows \\\\.\\pipe\\weft)"},
    {kOutputs, "state-dir", &V::state_dir, "PATH",
     "keeps the list of what was made in HNS and on the host, ledger.json and ledger.changes, for "
     "flannelctl reset (default /var/lib/weft, on Windows ProgramData\\weft on the system drive)"},

    {kLogs, "log-format", &V::log_format, "klog|json", "of the lines on stderr"},
    {kLogs, "v", &V::verbosity, "LEVEL", "more lines from 1 up"},
    {kLogs, "version", &V::version, "", "print the version and exit"},

    {kCompatible, "etcd-endpoints", &V::etcd_endpoints, "URLS", "etcd", true},
    {kCompatible, "etcd-prefix", &V::etcd_prefix, "PATH", "etcd", true},
    {kCompatible, "etcd-keyfile", &V::etcd_keyfile, "PATH", "etcd", true},
    {kCompatible, "etcd-certfile", &V::etcd_certfile, "PATH", "etcd", true},
    {kCompatible, "etcd-cafile", &V::etcd_cafile, "PATH", "etcd", true},
    {kCompatible, "etcd-username", &V::etcd_username, "NAME", "etcd", true},
    {kCompatible, "etcd-password", &V::etcd_password, "SECRET", "etcd", true},
    {kCompatible, "subnet-lease-renew-margin", &V::subnet_lease_renew_margin, "MINUTES",
     "etcd; must lie in 1..1439", true},
    {kCompatible, "ip-blackhole-route", &V::ip_blackhole_route, "", "routes of the subnet", true},
    {kCompatible, "vmodule", &V::vmodule, "PATTERNS", "klog", true},
    {kCompatible, "log_backtrace_at", &V::log_backtrace_at, "FILE:LINE", "klog", true},
};

}  // namespace

std::span<const FlagRow> FlagTable() { return kTable; }

std::string_view Title(FlagGroup group) {
  switch (group) {
    case FlagGroup::kLeases:
      return "Leases";
    case FlagGroup::kInterface:
      return "Interface";
    case FlagGroup::kDataPlane:
      return "Data plane";
    case FlagGroup::kOutputs:
      return "Outputs";
    case FlagGroup::kLogs:
      return "Logs";
    case FlagGroup::kCompatible:
      return "Accepted from upstream, without meaning here";
  }
  return "";
}

std::string DefaultOf(const FlagRow& row) {
  const FlagValues defaults;
  if (const auto* flag = std::get_if<bool FlagValues::*>(&row.place))
    return defaults.**flag ? "true" : "false";
  if (const auto* number = std::get_if<std::int64_t FlagValues::*>(&row.place))
    return absl::StrCat(defaults.**number);
  if (const auto* text = std::get_if<std::string FlagValues::*>(&row.place)) return defaults.**text;
  return "";
}

const FlagRow* FindFlag(std::string_view name) {
  for (const FlagRow& row : kTable) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace weft::config
