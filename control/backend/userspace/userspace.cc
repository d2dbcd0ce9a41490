// SPDX-License-Identifier: Apache-2.0
#include "control/backend/userspace/userspace.h"

#include <algorithm>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/backend/userspace/pod_device.h"
#include "control/log.h"
#include "control/own_files.h"

namespace weft::backend {
namespace {

constexpr char kWithoutHns[] =
    "with --dataplane=userspace there is no network in HNS, so kube-proxy and the CNI plugins, "
    "which need one, do not work on this node";

// Names the node of each example, and what concerns a peer in its row.
void AddPeerFacts(const lease::LeaseTable& table, IpFamily family, admin::TunnelStatus& tunnel,
                  const std::map<IpAddress, admin::IcmpErrors>& errors,
                  std::span<admin::PeerStatus> rows) {
  std::vector<admin::DropExample*> examples;
  for (admin::DirectionStatus* direction : {&tunnel.to_wire, &tunnel.to_pods}) {
    for (admin::VerdictCount& count : direction->packets)
      if (count.example) examples.push_back(&*count.example);
  }
  if (examples.empty() && errors.empty()) return;
  const std::vector<lease::Peer> peers = table.Snapshot(family);
  std::map<std::string_view, const admin::IcmpErrors*> by_node;
  for (const lease::Peer& peer : peers) {
    for (admin::DropExample* const each : examples) {
      const auto inside = [&](const std::optional<IpAddress>& inner) {
        return inner && peer.subnet.Contains(*inner);
      };
      // The outer address says more than the inner ones, which any sender chooses.
      if (each->outer == peer.public_ip ||
          (each->peer.empty() && (inside(each->inner_source) || inside(each->inner_destination))))
        each->peer = peer.node;
    }
    if (const auto found = errors.find(peer.public_ip); found != errors.end())
      by_node.emplace(peer.node, &found->second);
  }
  for (admin::PeerStatus& row : rows) {
    if (const auto found = by_node.find(row.node); found != by_node.end())
      row.icmp_errors = *found->second;
  }
}

}  // namespace

std::vector<TunnelConfig> TunnelConfigs(const NodePlan& plan, const config::Options& options,
                                        const control::NetConf& conf) {
  std::vector<TunnelConfig> tunnels;
  for (IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
    if (!plan.of(family)) continue;
    TunnelConfig& tunnel = tunnels.emplace_back();
    tunnel.family = family;
    tunnel.pod_device = options.pod_device;
    tunnel.device = tunnel.pod_device.kind == config::PodDevice::Kind::kPcap
                        ? tunnel.pod_device.adapter
                        : TunnelDevice(family, conf.vni);
    tunnel.vni = conf.vni;
    tunnel.port = conf.port;
    tunnel.subnet = plan.of(family)->subnet;
    tunnel.vtep_mac = plan.of(family)->vtep_mac;
    // Where peers send to another address than the interface's (--public-ip), it may be on another
    // adapter, or be translated to any address of this host.
    const underlay::ChosenFamily& chosen = *plan.underlay.of(family);
    tunnel.bind_address = chosen.address;
    tunnel.receive_on_all = chosen.public_ip != chosen.address;
    tunnel.link_mtu = plan.underlay.mtu;
    tunnel.mtu = TunnelMtu(family, conf, plan.underlay);
    tunnel.pod_mtu = plan.mtu;
    tunnel.udp_checksum = options.udp_checksum;
    tunnel.peer_check = options.peer_check;
    tunnel.busy_poll = options.busy_poll;
    if (options.superframes == config::Superframes::kWhole)
      tunnel.whole_egress = plan.underlay.index;
    tunnel.workers = options.workers;
  }
  return tunnels;
}

std::optional<control::HostRouteConfig::Device> Userspace::DeviceOf(IpFamily family) const {
  for (const std::unique_ptr<Tunnel>& tunnel : tunnels_) {
    if (tunnel->config().family == family)
      return control::HostRouteConfig::Device{tunnel->adapter_index(), tunnel->config().device};
  }
  return std::nullopt;
}

absl::Status Userspace::Configure(const NodePlan& plan, const underlay::HostFacts&) {
  const config::PodDevice& pods = context_.options.pod_device;
  if (pods.kind == config::PodDevice::Kind::kPcap && pods.adapter == plan.underlay.name) {
    return absl::InvalidArgumentError(
        absl::StrCat("--pod-device=pcap:", pods.adapter,
                     " is the interface for traffic between nodes; name the adapter of the pods"));
  }
  underlay_ = plan.underlay.name;
  configs_ = TunnelConfigs(plan, context_.options, context_.conf);
  return absl::OkStatus();
}

void Userspace::Inspect(const underlay::HostFacts& host) {
  std::erase_if(tunnels_, [&](const std::unique_ptr<Tunnel>& tunnel) {
    const bool desired =
        std::find(configs_.begin(), configs_.end(), tunnel->config()) != configs_.end();
    if (desired && tunnel->IsIntact(host.adapters)) return false;
    control::LogInfo(absl::StrCat("taking down ", tunnel->config().device,
                                  desired ? ": its device was changed or is gone" : ""));
    context_.reconciler.RemoveSink(tunnel->sink());
    return true;
  });
}

std::shared_ptr<dataplane::Counters>& Userspace::CountersOf(IpFamily family) {
  auto& counters = family == IpFamily::kV4 ? v4_counters_ : v6_counters_;
  if (!counters) counters = std::make_shared<dataplane::Counters>();
  return counters;
}

absl::Status Userspace::Open() {
  if (context_.host.is_windows() && !std::exchange(said_without_hns_, true))
    control::LogWarning(kWithoutHns);
  if (!context_.options.trace.empty() && !trace_) OpenTrace();
  for (const TunnelConfig& config : configs_) {
    if (std::any_of(tunnels_.begin(), tunnels_.end(),
                    [&](const auto& tunnel) { return tunnel->config() == config; }))
      continue;
    if (absl::Status status = OpenTunnel(config); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// Packets are moved without it too.
void Userspace::OpenTrace() {
  const std::string& path = context_.options.trace;
  auto file = control::CreateOwnFile(path);
  if (!file.ok())
    return trace_condition_.Set(absl::StrCat("the trace ", path,
                                             " cannot be written: ", file.status().message(),
                                             "; give another path with --trace"));
  auto trace = dataplane::TraceFile::Open(*std::move(file), path, "flanneld");
  if (!trace.ok()) return trace_condition_.Set(trace.status().message());
  trace_ = *std::move(trace);
  control::LogWarning(
      absl::StrCat("every packet is written to ", path, " (--trace), which is slow"));
}

void Userspace::OnRoutes() {
  for (const std::unique_ptr<Tunnel>& tunnel : tunnels_) tunnel->RoutesChanged();
}

void Userspace::Poll(control::TimePoint now) {
  if (context_.host.is_windows() && context_.options.manage_firewall && !tunnels_.empty())
    firewall_.Allow(tunnels_.front()->config().port, {}, now);
  for (const std::unique_ptr<Tunnel>& tunnel : tunnels_) tunnel->Poll(now);
  if (trace_) trace_condition_.Set(trace_->status().message());
}

void Userspace::AppendConditions(std::vector<NamedCondition>& out) const {
  if (!context_.options.trace.empty()) out.push_back({"trace", trace_condition_});
  if (context_.host.is_windows()) out.push_back({"firewall", firewall_.condition()});
}

absl::Status Userspace::OpenTunnel(const TunnelConfig& config) {
  const bool pcap = config.pod_device.kind == config::PodDevice::Kind::kPcap;
  const bool replace =
      context_.options.replace_kernel_device && !replaced_devices_.contains(config.device);
  const absl::StatusOr<bool> replaced =
      pcap ? false : ClearName(config.device, config.vni, replace);
  if (!replaced.ok()) return replaced.status();
  if (*replaced) {
    replaced_devices_.insert(config.device);
    control::LogInfo(absl::StrCat("deleted the kernel's vxlan device ", config.device,
                                  " (--replace-kernel-device)"));
  }
  absl::StatusOr<std::unique_ptr<Tunnel>> tunnel =
      Tunnel::Open(config, context_.host, CountersOf(config.family), trace_,
                   [on_broken = context_.on_broken, device = config.device](
                       const absl::Status& status) { on_broken(device, status); });
  if (absl::IsAlreadyExists(tunnel.status())) {
    // The holder of the port or the name may end: the next round tries again.
    const std::string holders = PortHolders(config.port);
    return absl::UnavailableError(
        absl::StrCat(tunnel.status().message(), holders.empty() ? "" : ": ", holders));
  }
  if (!tunnel.ok()) return tunnel.status();
  tunnels_.push_back(*std::move(tunnel));
  SumKernelCounts(*tunnels_.back());  // before those that begin again pass what they were
  context_.reconciler.AddSink(tunnels_.back()->sink(), FamiliesOf(config.family));
  control::LogInfo(absl::StrCat(config.device, pcap ? " is captured: " : " is up: ",
                                config.pod_device.kind == config::PodDevice::Kind::kTun
                                    ? config.subnet.base().ToString()
                                    : absl::StrCat("gateway ", config.gateway().ToString()),
                                ", MTU ", config.mtu.bytes(), ", VTEP MAC ",
                                config.vtep_mac.ToString(), ", UDP port ", config.port, " on ",
                                underlay_));
  return absl::OkStatus();
}

void Userspace::CloseDevice(const std::string& device) {
  std::erase_if(tunnels_, [&](const std::unique_ptr<Tunnel>& tunnel) {
    if (tunnel->config().device != device) return false;
    context_.reconciler.RemoveSink(tunnel->sink());
    return true;
  });
}

void Userspace::Close() {
  for (const std::unique_ptr<Tunnel>& tunnel : tunnels_)
    context_.reconciler.RemoveSink(tunnel->sink());
  tunnels_.clear();
}

std::string Userspace::TunnelsText(bool up) const {
  return up ? absl::StrCat(tunnels_.size(), " up") : "";
}

void Userspace::FillStatus(admin::Status& status) const {
  for (const std::unique_ptr<Tunnel>& tunnel : tunnels_) {
    const std::size_t others = status.peers.size();
    status.tunnels.push_back(tunnel->ReadStatus());
    tunnel->AppendPeers(status.peers, std::chrono::steady_clock::now());
    AddPeerFacts(context_.reconciler.table(), tunnel->config().family, status.tunnels.back(),
                 tunnel->IcmpErrors(), std::span(status.peers).subspan(others));
  }
}

void Userspace::AppendChecks(std::vector<admin::Check>& out) const {
  if (context_.host.is_windows()) out.push_back({"hns", true, kWithoutHns});
}

void Userspace::SumKernelCounts(const Tunnel& tunnel) const {
  const admin::TunnelStatus status = tunnel.ReadStatus();
  for (const admin::KernelCount& count : status.kernel) {
    if (count.name == "neighbours") continue;  // a gauge
    KernelSum& sum = kernel_sums_[{status.family, count.name}];
    if (count.value < sum.now) sum.before += sum.now;  // it began again with the tunnel
    sum.now = count.value;
  }
}

void Userspace::AddMetrics(metrics::Exposition& exposition) const {
  using dataplane::Verdict;
  using metrics::Metric;
  const auto add = [&](std::string_view family, std::string_view direction,
                       const dataplane::DirectionCounts& counts) {
    const auto forwarded = static_cast<std::size_t>(Verdict::kForward);
    exposition.Add(Metric::kEncapPackets, {family, direction}, counts.packets[forwarded]);
    exposition.Add(Metric::kEncapBytes, {family, direction}, counts.bytes);
    for (std::size_t i = 0; i < dataplane::kVerdictCount; ++i) {
      if (i == forwarded) continue;
      exposition.Add(Metric::kDropPackets, {family, direction, Name(static_cast<Verdict>(i))},
                     counts.packets[i]);
    }
  };
  for (const std::unique_ptr<Tunnel>& tunnel : tunnels_) SumKernelCounts(*tunnel);
  for (const auto& [key, sum] : kernel_sums_)
    exposition.Add(Metric::kKernelEvents, {key.first, key.second}, sum.before + sum.now);
  for (const auto& [family, counters] : {std::pair(std::string_view("ipv4"), v4_counters_.get()),
                                         std::pair(std::string_view("ipv6"), v6_counters_.get())}) {
    if (!counters) continue;
    const dataplane::CounterValues values = counters->Read();
    add(family, "to-wire", values.to_wire);
    add(family, "to-pods", values.to_pods);
    exposition.Add(Metric::kIcmpErrors, {family}, values.icmp_errors_sent);
  }
}

}  // namespace weft::backend
