// SPDX-License-Identifier: Apache-2.0
#include "control/config/options.h"

#include <algorithm>
#include <bit>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "control/admin/endpoint.h"
#include "control/config/flag_table.h"
#include "control/own_files.h"
#include "re2/re2.h"
#include "vxlan/ip_address.h"
#include "vxlan/text/printable.h"

namespace weft::config {
namespace {

absl::Status Wrong(std::string_view text) { return absl::InvalidArgumentError(text); }

absl::Status SetLeaseSource(const FlagValues& values, Options& options) {
  constexpr std::string_view kFile = "file:";
  if (values.kube_subnet_mgr && !values.lease_source.empty()) {
    return Wrong(absl::StrCat("--kube-subnet-mgr and --lease-source=", Shown(values.lease_source),
                              " both name a source of leases; give one of them"));
  }
  if (values.kube_subnet_mgr) return absl::OkStatus();
  if (values.lease_source.empty()) {
    return Wrong(
        "no source of leases: give --kube-subnet-mgr or --lease-source=file:PATH (without either "
        "upstream uses etcd, which flanneld does not support)");
  }
  options.lease_file = std::string(absl::StripPrefix(values.lease_source, kFile));
  if (!absl::StartsWith(values.lease_source, kFile) || options.lease_file.empty()) {
    return Wrong(absl::StrCat("--lease-source=", Shown(values.lease_source),
                              " is not understood; write file:PATH"));
  }
  return absl::OkStatus();
}

// Finds errors that do not depend on the host; a missing interface is waited for.
absl::Status CheckInterface(const PlainValues& values) {
  const struct {
    std::string_view flag;
    const std::string& text;
    std::optional<IpFamily> family;
  } addresses[] = {{"--public-ip", values.public_ip, IpFamily::kV4},
                   {"--public-ipv6", values.public_ipv6, IpFamily::kV6},
                   {"--iface-can-reach", values.iface_can_reach, std::nullopt}};
  for (const auto& [flag, text, family] : addresses) {
    const std::optional<IpAddress> address = IpAddress::Parse(text);
    if (text.empty() || (address && (!family || address->family() == *family))) continue;
    return Wrong(absl::StrCat(flag, "=", text, " is not an ",
                              !family                    ? "IP"
                              : *family == IpFamily::kV4 ? "IPv4"
                                                         : "IPv6",
                              " address; correct it"));
  }
  for (const std::string& pattern : values.iface_regex) {
    if (const RE2 expression(pattern, RE2::Quiet); !expression.ok()) {
      return Wrong(absl::StrCat("--iface-regex=", pattern,
                                " is not a regular expression of RE2: ", expression.error()));
    }
  }
  return absl::OkStatus();
}

// A name that needs no escaping in the path of a request: client-go's rule, without invisible
// characters.
bool IsObjectName(std::string_view name) {
  return !name.empty() && name.size() <= 253 && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return c > ' ' && c < '\x7f' && c != '/' && c != '%'; });
}

absl::Status CheckObjectName(std::string_view what, const std::string& name) {
  if (IsObjectName(name)) return absl::OkStatus();
  return Wrong(absl::StrCat(what, " ", Quoted(name),
                            " is not a name that the Kubernetes API accepts; correct it"));
}

// Upstream's order, with --node-name before it.
absl::Status SetNode(const Environment& environment, Options& options) {
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

// `name` is one of --dataplane's list.
DataPlane ParseDataPlane(std::string_view name) {
  for (const DataPlane each : {DataPlane::kUserspace, DataPlane::kRoutes, DataPlane::kHns})
    if (name == Name(each)) return each;
  return DataPlane::kNone;
}

absl::Status SetWorkers(const FlagValues& values, Options& options) {
  const char* const alone = options.pod_device.kind != PodDevice::Kind::kTun
                                ? "with --pod-device=tap or pcap:ADAPTER"
                            : !values.trace.empty() ? "with --trace"
                                                    : nullptr;
  if (values.workers.empty()) {
    constexpr unsigned kMost = 4;
    const unsigned desired = std::clamp(std::thread::hardware_concurrency() / 4, 1U, kMost);
    options.workers = alone != nullptr ? 1 : static_cast<int>(std::bit_floor(desired));
    return absl::OkStatus();
  }
  constexpr int kMost = 8;
  if (!absl::SimpleAtoi(values.workers, &options.workers) || options.workers < 1 ||
      options.workers > kMost || !std::has_single_bit(static_cast<unsigned>(options.workers))) {
    return Wrong(absl::StrCat("--workers=", Shown(values.workers), " must be 1, 2, 4 or 8"));
  }
  if (options.workers == 1 || alone == nullptr) return absl::OkStatus();
  return Wrong(absl::StrCat("--workers=", values.workers, ": ", alone,
                            " there is one thread; leave it out"));
}

absl::Status SetDataPlane(const FlagValues& values, Options& options) {
  options.data_plane =
      values.dataplane.empty() ? DefaultDataPlane() : ParseDataPlane(values.dataplane);
  options.hns_emulator = EmulatorPath(values.hns);
  if (!values.hns.empty() && !options.hns_emulator) {
    return Wrong(absl::StrCat("--hns=", Shown(values.hns),
                              " is not understood; write --hns=emulator:PATH, or leave it out for "
                              "this machine's own"));
  }
  options.peer_check = *dataplane::ParsePeerCheck(values.peer_check);
  options.superframes = values.superframes == "whole" ? Superframes::kWhole : Superframes::kCut;
  options.firewall_sources =
      values.firewall_sources == "peers" ? FirewallSources::kPeers : FirewallSources::kAny;
  options.iptables_resync =
      std::chrono::seconds(std::clamp<std::int64_t>(values.iptables_resync, 1, 3600));
  if (options.data_plane == DataPlane::kHns && !options.hns_emulator &&
      DefaultDataPlane() != DataPlane::kHns) {
    return absl::UnimplementedError(
        "--dataplane=hns needs Windows; with --hns=emulator:PATH an emulator takes HNS's place");
  }
  if (options.data_plane != DataPlane::kUserspace) return absl::OkStatus();
  if (!values.busy_poll.empty()) {
    constexpr int kMostBusyPoll = 1'000'000;
    int microseconds = 0;
    if (!absl::SimpleAtoi(values.busy_poll, &microseconds) || microseconds < 0 ||
        microseconds > kMostBusyPoll)
      return Wrong(absl::StrCat("--busy-poll=", Shown(values.busy_poll), " must lie in 0..",
                                kMostBusyPoll, " (microseconds)"));
    options.busy_poll = {std::chrono::microseconds(microseconds), 100};
  }
  absl::StatusOr<PodDevice> pod_device = ParsePodDevice(values.pod_device);
  if (!pod_device.ok()) return pod_device.status();
  options.pod_device = *std::move(pod_device);
  return SetWorkers(values, options);
}

// A value with which the flag requests nothing: it holds on every node.
bool IsIdle(const FlagRow& row, std::string_view text) {
  return text.empty() || text == "off" || text == "any" || text == "cut" ||
         (text == "false" && row.name != "udp-checksum");
}

// A list by its first value.
std::string ValueOf(const FlagRow& row, const FlagValues& values) {
  const auto* list = std::get_if<std::vector<std::string> FlagValues::*>(&row.place);
  return list == nullptr ? TextOf(row, values) : (values.**list).front();
}

void FindWithoutEffect(const FlagValues& values, NodeConfig& node) {
  if (node.conf.ipv6_left_out) {
    node.notes.emplace_back(
        "EnableIPv6 of net-conf has no effect on this node, because HNS has no IPv6 networks: its "
        "pods have only IPv4, and other nodes send it no IPv6 packets for pods");
  }
  for (const std::string_view name : values.given) {
    const FlagRow& row = *FindFlag(name);
    const std::string value = ValueOf(row, values);
    if (!row.need || IsIdle(row, value) || row.need->is_met({values, node.options, node.conf}))
      continue;
    const std::string note = absl::StrCat("--", name, "=", Shown(value),
                                          " has no effect on this node: it needs ", row.need->text);
    if (name != "peer-check" && name != "firewall-sources") {
      node.notes.push_back(note);
      continue;
    }
    absl::StrAppend(&node.unprotected, node.unprotected.empty() ? "" : "; ", note,
                    ", so no packet is kept out by it: let a firewall of the network do that, and "
                    "remove the flag");
  }
}

void SetOutputs(const FlagValues& values, Options& options) {
  // Where the CNI plugin reads it: containerd's current drive is the system drive.
  if (options.subnet_file == PlainValues().subnet_file)
    options.subnet_file = control::OnSystemDrive(options.subnet_file);
  if (options.source_vip_store == PlainValues().source_vip_store)
    options.source_vip_store = control::OnSystemDrive(options.source_vip_store);
  if (values.healthz_port > 0)
    options.healthz_port = static_cast<std::uint16_t>(values.healthz_port);
  if (values.admin.empty())
    options.admin = std::string(admin::DefaultEndpoint());
  else if (values.admin != "none")
    options.admin = values.admin;
}

}  // namespace

std::optional<std::string> EmulatorPath(std::string_view value) {
  if (!absl::ConsumePrefix(&value, "emulator:") || value.empty()) return std::nullopt;
  return std::string(value);
}

absl::StatusOr<PodDevice> ParsePodDevice(std::string_view text) {
  using Kind = PodDevice::Kind;
  std::string_view adapter = text;
  if (absl::ConsumePrefix(&adapter, "pcap:") && !adapter.empty())
    return PodDevice{Kind::kPcap, std::string(adapter)};
  if (!HasTunDevices()) {
    return Wrong(absl::StrCat(
        "--dataplane=userspace on Windows needs Npcap and an adapter for the pods: ",
        text.empty() ? "" : absl::StrCat("--pod-device=", Shown(text), " names none; "),
        "give --pod-device=pcap:ADAPTER"));
  }
  if (text.empty() || text == "tun") return PodDevice{Kind::kTun};
  if (text == "tap") return PodDevice{Kind::kTap};
  return Wrong(absl::StrCat("--pod-device=", Shown(text),
                            " is not understood; write tun, tap or pcap:ADAPTER"));
}

constexpr std::string_view kDataPlanes[] = {"userspace", "routes", "hns", "none"};
std::string_view Name(DataPlane data_plane) {
  return kDataPlanes[static_cast<std::size_t>(data_plane)];
}

absl::StatusOr<std::optional<control::LogFile>> LogFileOf(const FlagValues& values) {
  constexpr std::int64_t kMostMib = 4096, kMostFiles = 1000;
  if (values.log_file_size < 1 || values.log_file_size > kMostMib)
    return Wrong(absl::StrCat("--log-file-size=", values.log_file_size, " must lie in 1..",
                              kMostMib, " (MiB)"));
  if (values.log_files < 1 || values.log_files > kMostFiles)
    return Wrong(absl::StrCat("--log-files=", values.log_files, " must lie in 1..", kMostFiles));
  if (values.log_dir.empty()) return std::nullopt;
  return control::LogFile{control::OnSystemDrive(values.log_dir),
                          static_cast<std::uint64_t>(values.log_file_size) << 20,
                          static_cast<std::size_t>(values.log_files)};
}

absl::StatusOr<Options> MakeOptions(const FlagValues& values, const Environment& environment) {
  if (values.subnet_lease_renew_margin < 1 || values.subnet_lease_renew_margin > 1439) {
    return Wrong(absl::StrCat("--subnet-lease-renew-margin=", values.subnet_lease_renew_margin,
                              " must lie in 1..1439 (minutes of a day)"));
  }
  if (const auto log = LogFileOf(values); !log.ok()) return log.status();
  Options options{values};
  SetOutputs(values, options);
  if (absl::Status status = CheckInterface(options); !status.ok()) return status;
  if (absl::Status status = SetLeaseSource(values, options); !status.ok()) return status;
  if (absl::Status status = SetNode(environment, options); !status.ok()) return status;
  if (absl::Status status = SetDataPlane(values, options); !status.ok()) return status;
  return options;
}

control::VxlanDefaults DefaultsFor(DataPlane data_plane) {
  const bool hns = data_plane == DataPlane::kHns || DefaultDataPlane() == DataPlane::kHns;
  return hns ? control::kHnsDefaults : control::kLinuxDefaults;
}

absl::StatusOr<NodeConfig> MakeNodeConfig(Options options, control::NetConf conf) {
  const bool is_vxlan = conf.type == control::BackendType::kVxlan;
  if (options.data_plane == DataPlane::kRoutes && is_vxlan) {
    return absl::InvalidArgumentError(
        "Backend.Type: \"vxlan\" of net-conf needs a tunnel, and --dataplane=routes has none: use "
        "--dataplane=userspace, or write \"host-gw\" for all nodes");
  }
  if (options.data_plane == DataPlane::kHns && conf.direct_routing) {
    return absl::InvalidArgumentError(
        "Backend.DirectRouting: true of net-conf is impossible with --dataplane=hns: an HNS "
        "overlay network accepts no packets that bypass its tunnel; remove the key for all nodes");
  }
  // Of the userspace data plane alone.
  const bool frames = options.pod_device.kind != PodDevice::Kind::kTun;
  if (frames && (!is_vxlan || conf.direct_routing)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Backend.", is_vxlan ? "DirectRouting: true" : "Type other than vxlan",
        " of net-conf needs routes of the host, which pods behind --pod-device=tap or pcap do not "
        "use; remove the ",
        is_vxlan ? "key for all nodes" : "flag"));
  }
  if (options.data_plane == DataPlane::kUserspace && conf.type == control::BackendType::kHostGw)
    options.data_plane = DataPlane::kRoutes;
  const bool by_hns = options.data_plane == DataPlane::kHns;
  if ((by_hns || options.hns_emulator) && conf.type != control::BackendType::kAlloc) {
    if (!conf.enable_ipv4) {
      return absl::InvalidArgumentError(
          "EnableIPv4: false in net-conf leaves only IPv6, and HNS has no IPv6 networks: "
          "enable IPv4 for this cluster, or keep its pods off Windows nodes");
    }
    if (by_hns) control::LeaveOutIPv6(conf);
    const absl::Status status = is_vxlan ? control::CheckForHns(conf) : absl::OkStatus();
    if (!status.ok()) return status;
  }
  return NodeConfig{std::move(options), std::move(conf)};
}

absl::StatusOr<NodeConfig> LoadNodeConfig(const FlagValues& values,
                                          const Environment& environment) {
  absl::StatusOr<Options> options = MakeOptions(values, environment);
  if (!options.ok()) return options.status();
  absl::StatusOr<control::NetConf> conf =
      control::LoadNetConf(options->net_config_path, DefaultsFor(options->data_plane));
  if (!conf.ok()) return conf.status();
  absl::StatusOr<NodeConfig> node = MakeNodeConfig(*std::move(options), *std::move(conf));
  if (node.ok()) FindWithoutEffect(values, *node);
  return node;
}

}  // namespace weft::config
