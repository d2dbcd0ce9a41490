// SPDX-License-Identifier: Apache-2.0
#include "control/config/flag_table.h"

#include "absl/strings/str_cat.h"
#include "control/config/options.h"

namespace weft::config {
namespace {

using V = FlagValues;
constexpr FlagGroup kLeases = FlagGroup::kLeases, kInterface = FlagGroup::kInterface,
                    kDataPlane = FlagGroup::kDataPlane, kOutputs = FlagGroup::kOutputs,
                    kLogs = FlagGroup::kLogs, kCompatible = FlagGroup::kCompatible;

using control::BackendType;
using On = const Situation&;

// The conditions are those of the code that uses the option.
constexpr Need kCluster{"--kube-subnet-mgr", [](On on) { return on.options.kube_subnet_mgr; }};
constexpr Need kServiceAccount{
    "--kube-subnet-mgr without --kubeconfig-file and --kube-api-url", [](On on) {
      return on.options.kube_subnet_mgr && on.options.kubeconfig_file.empty() &&
             on.options.kube_api_url.empty();
    }};
constexpr Need kIpv4{"pods with IPv4 addresses (EnableIPv4 of net-conf)",
                     [](On on) { return on.conf.enable_ipv4; }};
constexpr Need kIpv6{"pods with IPv6 addresses (EnableIPv6 of net-conf; HNS has none)",
                     [](On on) { return on.conf.enable_ipv6; }};
constexpr Need kTunnel{
    "a tunnel of flanneld's own (--dataplane=userspace, Backend.Type vxlan)", [](On on) {
      return on.options.data_plane == DataPlane::kUserspace && on.conf.type == BackendType::kVxlan;
    }};
constexpr Need kTunnel4{"a tunnel of flanneld's own over IPv4 (--dataplane=userspace, vxlan)",
                        [](On on) { return kTunnel.is_met(on) && on.conf.enable_ipv4; }};
constexpr Need kKernelTunnel{"a tunnel of flanneld's own on Linux (--dataplane=userspace, vxlan)",
                             [](On on) { return kTunnel.is_met(on) && HasTunDevices(); }};
constexpr Need kOwnDevice{
    "a tunnel on Linux with a device of flanneld's own (--pod-device=tun or tap)", [](On on) {
      return kTunnel.is_met(on) && on.options.pod_device.kind != PodDevice::Kind::kPcap;
    }};
constexpr Need kPeers{"peers, which Backend.Type alloc has none of",
                      [](On on) { return on.conf.type != BackendType::kAlloc; }};
constexpr Need kNetwork{
    "an overlay network in HNS (--dataplane=hns, Backend.Type vxlan)", [](On on) {
      return on.conf.type == BackendType::kVxlan &&
             (on.options.data_plane == DataPlane::kHns || on.options.hns_emulator.has_value());
    }};
constexpr Need kOverlay{kNetwork.text, [](On on) {
                          return on.conf.type == BackendType::kVxlan &&
                                 on.options.data_plane == DataPlane::kHns;
                        }};
constexpr Need kSourceVip{"an overlay network in HNS, and --source-vip-store", [](On on) {
                            return kOverlay.is_met(on) && !on.options.source_vip_store.empty();
                          }};
constexpr Need kFirewall{
    "Windows, and an overlay network in HNS or a tunnel of flanneld's own (Backend.Type vxlan)",
    [](On on) { return kOverlay.is_met(on) || (kTunnel.is_met(on) && !HasTunDevices()); }};
constexpr Need kFirewallRule{
    "flanneld's rule in Windows' firewall for an overlay network in HNS (--dataplane=hns, "
    "Backend.Type vxlan, not --manage-firewall=false)",
    [](On on) { return kOverlay.is_met(on) && on.options.manage_firewall; }};
constexpr Need kPacketFilter{"Linux' packet filter, which --dataplane=hns and none leave alone",
                             [](On on) {
                               return HasTunDevices() && on.options.data_plane != DataPlane::kHns &&
                                      on.options.data_plane != DataPlane::kNone;
                             }};
// Elsewhere the CNI plugin masquerades, if FLANNEL_IPMASQ says so.
constexpr Need kMasquerading{
    "on Linux another --dataplane than none, with which the CNI plugin masquerades",
    [](On on) { return !HasTunDevices() || on.options.data_plane != DataPlane::kNone; }};
constexpr Need kMasqueradeRules{
    "--ip-masq, and Linux' packet filter, which --dataplane=hns and none leave alone",
    [](On on) { return kPacketFilter.is_met(on) && on.options.ip_masq; }};
constexpr Need kHealthz{"--healthz-port",
                        [](On on) { return on.options.healthz_port.has_value(); }};
constexpr Need kLogFile{"--log-dir", [](On on) { return !on.values.log_dir.empty(); }};

constexpr FlagRow kTable[] = {
    {kLeases, "kube-subnet-mgr", &V::kube_subnet_mgr, "",
     "read the leases from the Kubernetes API, and publish this node's there"},
    {kLeases, "lease-source", &V::lease_source, "file:PATH",
     "read the leases from a file of Node objects, as `kubectl get nodes -o json` prints them; "
     "changes are followed"},
    {kLeases, "net-config-path", &V::net_config_path, "PATH", "the network's configuration"},
    {kLeases, "node-name", &V::node_name, "NAME",
     "this node's name; else the variable NODE_NAME, else the node of the pod POD_NAME in "
     "POD_NAMESPACE"},
    {kLeases, "kubeconfig-file", &V::kubeconfig_file, "PATH",
     "credentials for the API server; without this and --kube-api-url, the pod's service account",
     &kCluster},
    {kLeases, "kube-api-url", &V::kube_api_url, "URL",
     "the API server, https://HOST:PORT; overrides the kubeconfig's; may be repeated, or be "
     "several separated by commas: the first is used until it fails, then the next that works",
     &kCluster},
    {kLeases, "kubelet-kubeconfig", &V::kubelet_kubeconfig, "PATH",
     "in a pod, without --kubeconfig-file and --kube-api-url: while the Kubernetes service does "
     "not answer, the API server's address in this file is used, with the pod's own credentials; "
     "empty: no other address",
     &kServiceAccount},
    {kLeases, "kube-annotation-prefix", &V::kube_annotation_prefix, "PREFIX",
     "prefix of flannel's annotations on Node objects"},
    {kLeases, "set-node-network-unavailable", &V::set_node_network_unavailable, "",
     "set the Node's condition NetworkUnavailable to False once ready", &kCluster},

    {kInterface, "iface", &V::iface, "IP|NAME",
     "the interface for traffic between nodes, by address or exact name; may be repeated, the "
     "first that fits is used"},
    {kInterface, "iface-regex", &V::iface_regex, "RE2",
     "the interface by a regular expression, matched against addresses, then names; tried after "
     "every --iface"},
    {kInterface, "iface-can-reach", &V::iface_can_reach, "IP",
     "the interface by the route to this address; tried last"},
    {kInterface, "public-ip", &V::public_ip, "IP",
     "the IPv4 address that is published to peers; else the interface's", &kIpv4},
    {kInterface, "public-ipv6", &V::public_ipv6, "IP",
     "the IPv6 address that is published to peers; else the interface's", &kIpv6},

    {kDataPlane, "dataplane", &V::dataplane, "userspace|none|hns|routes",
     "what moves the packets: userspace, flanneld itself; routes, the host's routes to each peer "
     "(Backend.Type host-gw only, where userspace means the same); hns, Windows' Host Network "
     "Service; none, nothing: only the lease is taken and subnet.env written",
     nullptr, "userspace", "hns"},
    {kDataPlane, "pod-device", &V::pod_device, "DEVICE",
     "with --dataplane=userspace, how pods reach flanneld: tun, by IP packets through a device of "
     "ours and the host's routes; tap, by Ethernet frames through a device of ours, to be put into "
     "a bridge with the pods; pcap:ADAPTER, by Ethernet frames on an existing adapter, through "
     "libpcap or Npcap. With tap and pcap flanneld is the pods' gateway, the address in "
     "FLANNEL_SUBNET, and the host itself reaches no pods",
     &kTunnel, "tun", "none"},
    {kDataPlane, "hns", &V::hns, "emulator:PATH",
     "on Linux, for development: the HNS to program is the emulator that `flannelctl hns emulate` "
     "serves on the socket PATH; next to another data plane it only receives the state that a "
     "Windows node's HNS would have",
     &kPeers},
    {kDataPlane, "hns-base-network", &V::hns_base_network, "",
     "keep a persistent network in HNS, so that the first start cuts the node off for some "
     "seconds, and reboots do not, if the NIC keeps its identity",
     &kNetwork},
    {kDataPlane, "manage-firewall", &V::manage_firewall, "",
     "with an overlay network in HNS, or a tunnel of our own, keep a rule in Windows' firewall "
     "that allows inbound UDP to its port; false: flanneld neither makes nor removes rules",
     &kFirewall},
    {kDataPlane, "firewall-sources", &V::firewall_sources, "any|peers",
     "whose packets that rule lets in: any, every address's; peers, the nodes' public IPs alone, "
     "in at most 500 blocks; any as well while a node is behind NAT",
     &kFirewallRule},
    {kDataPlane, "peer-check", &V::peer_check, "strict|lease|off",
     "how the sender of a received packet is checked: strict, by the lease that contains the inner "
     "source; lease, by any lease's address; off, not at all",
     &kTunnel},
    {kDataPlane, "busy-poll", &V::busy_poll, "MICROSECONDS",
     "with --dataplane=userspace, how long after a packet flanneld looks for the next before it "
     "sleeps: shorter round trips, but a core is busy all that time",
     &kTunnel, "50, for 3 % of a core at most"},
    {kDataPlane, "workers", &V::workers, "N",
     "with --dataplane=userspace and a TUN device, how many threads carry a family's packets: "
     "1, 2, 4 or 8. A pod's packets stay with one of them, as do those of a flow from another "
     "node; Linux",
     &kTunnel, "one for each four processors, at most 4"},
    {kDataPlane, "udp-checksum", &V::udp_checksum, "",
     "fill in the UDP checksum of outer IPv4 packets; outer IPv6 always has it", &kTunnel4},
    {kDataPlane, "superframes", &V::superframes, "cut|whole|auto",
     "with --dataplane=userspace, how the large frames of pods' TCP and UDP are sent: cut, by "
     "flanneld into datagrams; whole, faster, by the kernel's segmentation of tunnels (Linux 6.17, "
     "CAP_BPF), past the host's OUTPUT, POSTROUTING and netdev egress chains, IPsec, routing "
     "rules, net_cls, and BPF programs of netfilter and cgroups; auto, as cut; Linux",
     &kKernelTunnel},
    {kDataPlane, "ip-masq", &V::ip_masq, "",
     "masquerade packets that pods send out of the cluster, by nftables' table inet weft, and "
     "write FLANNEL_IPMASQ=true to subnet.env; on Windows the CNI plugin masquerades",
     &kMasquerading},
    {kDataPlane, "ip-masq-fully-random-disable", &V::ip_masq_fully_random_disable, "",
     "masquerade with the kernel's usual choice of source ports, not a random one; Linux",
     &kMasqueradeRules},
    {kDataPlane, "iptables-forward-rules", &V::iptables_forward_rules, "",
     "accept packets that pods send and receive in iptables' chain FORWARD, if the host has it; "
     "Linux",
     &kPacketFilter},
    {kDataPlane, "iptables-resync", &V::iptables_resync, "SECONDS",
     "how often these rules are read in iptables-legacy, which reports no changes; Linux",
     &kPacketFilter},
    {kDataPlane, "replace-kernel-device", &V::replace_kernel_device, "",
     "delete the vxlan device flannel.VNI that upstream flannel left in the kernel, if it has our "
     "VNI; Linux",
     &kOwnDevice},

    {kOutputs, "subnet-file", &V::subnet_file, "PATH",
     "the file from which the CNI plugin reads subnet and MTU"},
    {kOutputs, "source-vip-store", &V::source_vip_store, "PATH",
     "host-local's folder of reserved addresses, where kube-proxy's source VIP is reserved on an "
     "overlay network of HNS; empty: none is reserved",
     &kOverlay},
    {kOutputs, "source-vip-file", &V::source_vip_file, "PATH",
     "a file for scripts that read the source VIP as CNI result (sourceVip.json); empty: none",
     &kSourceVip},
    {kOutputs, "healthz-ip", &V::healthz_ip, "IP", "the address of /healthz and /readyz",
     &kHealthz},
    {kOutputs, "healthz-port", &V::healthz_port, "PORT",
     "the port of /healthz and /readyz; 0 or less: none"},
    {kOutputs, "admin", &V::admin, "PATH", "socket or pipe for flannelctl; none: no such endpoint",
     nullptr, "/run/flannel/weft.sock", R"(\\.\pipe\weft)"},
    {kOutputs, "state-dir", &V::state_dir, "PATH",
     "folder of the ledger (ledger.json, ledger.changes): what flanneld created in HNS and on the "
     "host, for flannelctl reset; and of the journal (journal.json): the last leases, for a "
     "restart while the API server is away",
     nullptr, "/var/lib/weft", R"(ProgramData\weft on the system drive)"},

    {kLogs, "log-format", &V::log_format, "klog|json", "form of the lines"},
    {kLogs, "log-dir", &V::log_dir, "PATH",
     "also write the log to flanneld.log in this folder, which is made if it is missing"},
    {kLogs, "log-file-size", &V::log_file_size, "MIB",
     "the size at which flanneld.log becomes flanneld.1.log, and a new one begins", &kLogFile},
    {kLogs, "log-files", &V::log_files, "COUNT",
     "how many files are kept, the present one included", &kLogFile},
    {kLogs, "trace", &V::trace, "PATH",
     "with --dataplane=userspace, write every packet that flanneld receives, sends and drops to "
     "this file, as pcapng with the reasons of drops as comments, at most 1 GiB; slow, to look for "
     "an error",
     &kTunnel},
    {kLogs, "v", &V::verbosity, "LEVEL", "log more, from 1 up"},
    {kLogs, "version", &V::version, "", "print the version and exit"},

    {kCompatible, "etcd-endpoints", &V::etcd_endpoints, "URLS", "etcd"},
    {kCompatible, "etcd-prefix", &V::etcd_prefix, "PATH", "etcd"},
    {kCompatible, "etcd-keyfile", &V::etcd_keyfile, "PATH", "etcd"},
    {kCompatible, "etcd-certfile", &V::etcd_certfile, "PATH", "etcd"},
    {kCompatible, "etcd-cafile", &V::etcd_cafile, "PATH", "etcd"},
    {kCompatible, "etcd-username", &V::etcd_username, "NAME", "etcd"},
    {kCompatible, "etcd-password", &V::etcd_password, "SECRET", "etcd"},
    {kCompatible, "subnet-lease-renew-margin", &V::subnet_lease_renew_margin, "MINUTES",
     "etcd; must lie in 1..1439"},
    {kCompatible, "ip-blackhole-route", &V::ip_blackhole_route, "", "routes of the subnet"},
    {kCompatible, "vmodule", &V::vmodule, "PATTERNS", "klog"},
    {kCompatible, "log_backtrace_at", &V::log_backtrace_at, "FILE:LINE", "klog"},
};

constexpr VariableRow kVariables[] = {
    {"NODE_NAME", "this node's name, where --node-name is not given"},
    {"POD_NAME", "with POD_NAMESPACE: the pod whose node this is, where NODE_NAME is not set"},
    {"POD_NAMESPACE", "see POD_NAME"},
    {"KUBERNETES_SERVICE_HOST", "the API server's host, in a pod"},
    {"KUBERNETES_SERVICE_PORT", "the API server's port, in a pod"},
    {"CONTAINER_SANDBOX_MOUNT_POINT",
     "the root under which a HostProcess container's service account is searched first; Windows"},
    {"HTTPS_PROXY", "the proxy to an https:// API server; also in lower case"},
    {"HTTP_PROXY", "the proxy to an http:// API server; also in lower case"},
    {"NO_PROXY", "hosts and networks that are reached without a proxy; also in lower case"},
    {"PATH", "where the kubeconfig's exec plugin is searched"},
    {"PATHEXT", "endings that are added to that plugin's name; Windows"},
    {"SSL_CERT_FILE", "a file of trusted certificates, where none is configured; Linux"},
    {"SSL_CERT_DIR", "a folder of trusted certificates, where none is configured; Linux"},
    {"NOTIFY_SOCKET",
     "systemd's socket, which receives READY=1, STATUS=, STOPPING=1 and WATCHDOG=1; Linux"},
    {"WATCHDOG_USEC", "WATCHDOG=1 is sent twice in this time, while the event loop turns; Linux"},
    {"WATCHDOG_PID", "the process that WATCHDOG_USEC is for, where it is set; Linux"},
    {"EVENT_QUEUE_DEPTH", "upstream's event queue", true},
    {"CONT_WHEN_CACHE_NOT_READY", "upstream exits if its first leases are late", true},
    {"HTTP2_READ_IDLE_TIMEOUT_SECONDS", "HTTP/2; flanneld uses HTTP/1.1", true},
    {"HTTP2_PING_TIMEOUT_SECONDS", "HTTP/2; flanneld uses HTTP/1.1", true},
};

}  // namespace

std::span<const FlagRow> FlagTable() { return kTable; }

std::span<const VariableRow> VariableTable() { return kVariables; }

constexpr std::string_view kTitles[] = {"Leases",     "Interface",
                                        "Data plane", "Outputs",
                                        "Logs",       "Accepted from upstream, without effect"};
std::string_view Title(FlagGroup group) { return kTitles[static_cast<std::size_t>(group)]; }

std::string TextOf(const FlagRow& row, const FlagValues& values) {
  if (const auto* flag = std::get_if<bool FlagValues::*>(&row.place))
    return values.**flag ? "true" : "false";
  if (const auto* number = std::get_if<std::int64_t FlagValues::*>(&row.place))
    return absl::StrCat(values.**number);
  if (const auto* text = std::get_if<std::string FlagValues::*>(&row.place)) return values.**text;
  return "";
}

std::string DefaultOf(const FlagRow& row) { return TextOf(row, FlagValues()); }

std::string DefaultText(const FlagRow& row) {
  if (!row.windows_default.empty())
    return absl::StrCat(row.linux_default, ", on Windows ", row.windows_default);
  if (!row.linux_default.empty()) return std::string(row.linux_default);
  const std::string value = DefaultOf(row);
  return value == "false" ? "" : value;
}

const FlagRow* FindFlag(std::string_view name) {
  for (const FlagRow& row : kTable)
    if (row.name == name) return &row;
  return nullptr;
}

}  // namespace weft::config
