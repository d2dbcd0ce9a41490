// SPDX-License-Identifier: Apache-2.0
#include "control/cli/plan_offline.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/backend/hns_bridge/hns_bridge.h"
#include "control/backend/hns_overlay/hns_overlay.h"
#include "control/backend/host_routes/host_routes.h"
#include "control/backend/node_plan.h"
#include "control/backend/userspace/userspace.h"
#include "control/cli/hns/hns_option.h"
#include "control/cni/source_vip.h"
#include "control/command_line.h"
#include "control/config/options.h"
#include "control/file_io.h"
#include "control/host/host.h"
#include "control/kube/client/api_client.h"
#include "control/kube/client/cluster_servers.h"
#include "control/kube/publication.h"
#include "control/lease/lease_table.h"
#include "control/ledger/ledger.h"
#include "control/node/node_network.h"
#include "control/own_facts.h"
#include "control/own_files.h"
#include "control/sources/file_source.h"
#include "control/sources/kube_source.h"
#include "control/underlay/host_needs.h"
#include "control/underlay/own_underlay.h"
#include "hns/bridge_machine.h"
#include "hns/desired_routes.h"
#include "hns/overlay_machine.h"

namespace weft::cli {
namespace {

using config::DataPlane;

// The leases as the first complete list has them, without those of this node's own needs.
class Leases final : public lease::SourceListener {
 public:
  lease::LeaseTable table;
  std::optional<lease::OwnNode> own;
  bool complete = false;
  absl::Status condition;
  std::function<void()> on_end = [] {};

 private:
  void OnSnapshotBegin() override { table.BeginSnapshot(); }
  void OnSnapshotEnd() override {
    table.EndSnapshot();
    complete = true;
    on_end();
  }
  void OnUpsert(const lease::Lease& lease) override { table.Upsert(lease); }
  void OnDelete(const lease::NodeKey& node) override { table.Remove(node); }
  void OnRefused(const lease::RefusedNode& node) override { table.Refuse(node); }
  void OnNotJoined(const lease::NotJoinedNode& node) override { table.SetNotJoined(node); }
  void OnCondition(const absl::Status& status) override { condition = status; }
  void OnOwnNode(const std::optional<lease::OwnNode>& node) override { own = node; }
};

// The API server's addresses.
absl::StatusOr<std::vector<IpAddress>> ReadCluster(const config::Options& options,
                                                   const kube::AnnotationKeys& keys,
                                                   absl::Duration timeout, Leases& leases) {
  auto servers = kube::ReadClusterServers(
      {options.kubeconfig_file, options.kube_api_url, options.kubelet_kubeconfig},
      control::Variable);
  if (!servers.ok()) return servers.status();
  boost::asio::io_context io;
  kube::ApiClient client(io, *std::move(servers),
                         absl::StrCat("flannelctl/", WEFT_VERSION, " (weft)"));
  const control::SystemClock clock;
  leases.on_end = [&io] { io.stop(); };
  control::KubeSource source(io, clock, control::SystemRandom(), client, keys, options.node_name);
  source.Start(leases);
  io.run_for(absl::ToChronoNanoseconds(timeout));
  leases.on_end = [] {};
  if (leases.complete) return client.ServerAddresses();
  return absl::UnavailableError(absl::StrCat(
      "the Nodes were not read within ", absl::FormatDuration(timeout), " from ", client.Describe(),
      leases.condition.ok() ? "" : absl::StrCat(": ", leases.condition.message())));
}

absl::Status ReadFile(const config::Options& options, const kube::AnnotationKeys& keys,
                      Leases& leases) {
  control::FileSource source(control::PathOf(options.lease_file),
                             kube::NodeJsonCodec(keys, options.node_name));
  source.Start(leases);
  return source.status();
}

// As the daemon judges peers: by our subnet, Network, and what this host needs.
void Identify(const control::OwnFacts& facts, const control::NetConf& conf,
              const underlay::HostFacts& adapters, std::uint32_t underlay_index, host::Host& host,
              const std::vector<IpAddress>& servers, Leases& leases, OfflinePlan& out) {
  const auto name_servers = host.NameServers();
  if (!name_servers.ok())
    out.facts.push_back(
        absl::StrCat("not looked at: this host's name servers: ", name_servers.status().message()));
  lease::OwnIdentity own = control::IdentityOf(facts, conf);
  underlay::HostNeeds().Fill(
      own,
      underlay::ClaimsOf(adapters, name_servers.value_or(std::vector<IpAddress>()),
                         adapters.own_devices, underlay_index),
      servers, control::TimePoint());
  leases.table.SetOwn(std::move(own));
}

// ---- HNS

absl::StatusOr<hns::Drift> OverlayDrift(hns::Api& api, const hns::OverlaySpec& spec,
                                        const lease::LeaseTable& table) {
  hns::RemoteSubnetRoutes routes;
  for (const lease::Peer& peer : table.Snapshot(IpFamily::kV4))
    routes.emplace(peer.subnet, control::RouteTo(peer, spec));
  const auto desired = std::make_shared<hns::DesiredRoutes>();
  desired->Set(std::move(routes), /*may_remove=*/true);
  hns::OverlayKeeper keeper(api, spec, hns::OrNone(nullptr), std::chrono::steady_clock::now,
                            desired);
  return keeper.Inspect();
}

absl::StatusOr<hns::Drift> BridgeDrift(hns::Api& api, const hns::BridgeSpec& spec) {
  hns::Caller caller(api);
  const absl::StatusOr<hns::BridgePlan> plan = caller.Run(hns::InspectBridge(spec));
  if (!plan.ok()) return plan.status();
  return hns::DriftOf(*plan, spec);
}

absl::StatusOr<admin::Plan> PlanHns(const backend::NodePlan& plan, const config::Options& options,
                                    const control::NetConf& conf, const underlay::HostFacts& host,
                                    const lease::LeaseTable& table) {
  auto api = OpenHns(options.hns_emulator ? absl::StrCat("emulator:", *options.hns_emulator) : "");
  if (!api.ok()) return api.status();
  if (const auto version = hns::Client(**api).ReadVersion(); !version.ok()) return version.status();
  if (conf.type == control::BackendType::kVxlan) {
    const auto spec = backend::OverlayFor(plan, options, conf, host.adapters);
    if (!spec.ok()) return spec.status();
    const auto drift = OverlayDrift(**api, *spec, table);
    if (!drift.ok()) return drift.status();
    return backend::PlanOf(spec->name, *drift);
  }
  const auto spec = backend::BridgeFor(plan, options, conf, host.adapters);
  if (!spec.ok()) return spec.status();
  const auto drift = BridgeDrift(**api, *spec);
  if (!drift.ok()) return drift.status();
  return backend::PlanOf(spec->name, *drift);
}

// ---- Outside HNS

void AddSubnetFile(const backend::NodePlan& plan, const config::Options& options,
                   OfflinePlan& out) {
  const node::SubnetEnv env = node::EnvOf(plan, options.ip_masq);
  const std::string path = control::OnSystemDrive(options.subnet_file);
  const auto text = control::ReadFileText(path, 64 * 1024);
  if (text.ok() && *text == node::Text(env)) {
    out.facts.push_back(absl::StrCat(path, " is as flanneld writes it"));
  } else {
    out.changes.push_back(
        absl::StrCat(text.ok() ? "replace " : "write ", path, ":\n", node::Text(env)));
  }
}

void AddAnnotations(const control::OwnFacts& facts, const control::NetConf& conf,
                    const underlay::InterfaceChoice& choice, const lease::OwnNode& node,
                    const kube::AnnotationKeys& keys, bool hns_chooses, OfflinePlan& out) {
  kube::Annotations desired =
      kube::DesiredAnnotations(keys, underlay::PublicationOf(facts, conf, choice), node, out.facts);
  kube::Annotations shown = kube::ShownAnnotations(keys, node);
  if (hns_chooses) {
    desired.erase(keys.backend_data);  // with the network's router MAC
    out.changes.push_back(
        absl::StrCat("publish ", keys.backend_data, " with the MAC that HNS gives the network",
                     node.v4.backend_data.empty()
                         ? ""
                         : absl::StrCat(", unless it is as now: ", node.v4.backend_data)));
  }
  for (const auto& [key, text] : desired) {
    if (shown[key] == text) continue;
    out.changes.push_back(text.empty() ? absl::StrCat("remove ", key)
                                       : absl::StrCat("publish ", key, "=", text));
  }
}

void AddSourceVip(const backend::NodePlan& plan, const config::Options& options,
                  const control::NetConf& conf, OfflinePlan& out) {
  if (options.source_vip_store.empty() || !plan.v4) return;
  const std::string store = control::OnSystemDrive(options.source_vip_store);
  const auto found = cni::FindSourceVip({store, conf.name, plan.v4->subnet});
  if (found.ok() && *found)
    out.facts.push_back(absl::StrCat("the source VIP is ", (*found)->ToString()));
  else
    out.changes.push_back(absl::StrCat("reserve a source VIP in ", store, "/", conf.name));
}

void AddFirewall(host::Host& host, const config::Options& options, const control::NetConf& conf,
                 OfflinePlan& out) {
  if (!options.manage_firewall || !host.is_windows()) return;
  const std::string rule = backend::FirewallRuleName(conf.port);
  const auto owner = host.FindFirewallRule(rule);
  if (owner.ok() && *owner != host::RuleOwner::kNone)
    out.facts.push_back(
        absl::StrCat("the firewall rule ", rule, " exists",
                     *owner == host::RuleOwner::kOther ? ", of another program" : ""));
  else
    out.changes.push_back(
        absl::StrCat("add a firewall rule that allows inbound UDP to port ", conf.port));
}

void AddTunnels(const std::vector<backend::TunnelConfig>& tunnels, const underlay::HostFacts& host,
                OfflinePlan& out) {
  for (const backend::TunnelConfig& tunnel : tunnels) {
    const bool exists = std::ranges::find(host.adapters, tunnel.device, &host::Adapter::name) !=
                        host.adapters.end();
    if (exists)
      out.facts.push_back(absl::StrCat("the device ", tunnel.device, " exists now"));
    else
      out.changes.push_back(absl::StrCat("create the device ", tunnel.device,
                                         " and its routes, for UDP port ", tunnel.port,
                                         ", until flanneld stops"));
  }
}

// host-gw's, as HostRouteSink puts them; which foreign routes it takes over is left to it.
// `ledger`: null where the mark alone says which routes are ours.
absl::Status AddRoutes(const control::HostRouteConfig& config, const underlay::HostFacts& host,
                       const ledger::Ledger* ledger, const lease::LeaseTable& table,
                       OfflinePlan& out) {
  const bool v4 = config.family == IpFamily::kV4;
  const std::vector<host::Route>& routes = v4 ? host.routes_v4 : host.routes_v6;
  const auto on_link = control::OnLink::Of(config.underlay.adapter_index, host.adapters, routes);
  if (!on_link.ok())
    return absl::UnavailableError(
        absl::StrCat(config.underlay.name, ": ", on_link.status().message()));
  const auto text = [&](const IpPrefix& to, const std::optional<IpAddress>& via, std::uint32_t on) {
    const host::Adapter* const adapter = underlay::ByIndex(on, host.adapters);
    return absl::StrCat("route ", to.ToString(), via ? absl::StrCat(" via ", via->ToString()) : "",
                        adapter ? absl::StrCat(" dev ", adapter->name) : "");
  };
  std::set<IpPrefix> desired;
  for (const lease::Peer& peer : table.Snapshot(config.family)) {
    desired.insert(peer.subnet);
    const std::string route = text(peer.subnet, peer.public_ip, config.underlay.adapter_index);
    if (!on_link->Reaches(peer.public_ip)) {
      out.changes.push_back(absl::StrCat("refuse peer ", peer.node, ", without ", route,
                                         ": its address is not on that link"));
      continue;
    }
    const host::Route* other = nullptr;
    bool exists = false;
    for (const host::Route& each : routes) {
      if (each.destination != peer.subnet) continue;
      exists = exists || (each.gateway == peer.public_ip && each.kind == host::RouteKind::kPlain &&
                          each.adapter_index == config.underlay.adapter_index);
      other = &each;
    }
    if (exists)
      out.facts.push_back(absl::StrCat(route, " is kept"));
    else
      out.changes.push_back(absl::StrCat(
          "put ", route,
          other == nullptr ? ""
                           : absl::StrCat(", in place of ",
                                          text(peer.subnet, other->gateway, other->adapter_index),
                                          " if that is flannel's")));
  }
  for (const host::Route& each : routes) {
    if (!each.marked || !each.gateway || desired.contains(each.destination)) continue;
    if (ledger != nullptr) {
      const auto* const put = ledger->Find(ledger::HostRoute{each.destination, *each.gateway});
      if (put == nullptr || ledger::IsOfAnotherBoot(*put, control::BootId())) continue;
    }
    out.changes.push_back(
        absl::StrCat("delete ", text(each.destination, each.gateway, each.adapter_index)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<OfflinePlan> PlanOffline(const std::vector<std::string>& words,
                                        absl::Duration timeout) {
  const auto line = config::ParseFlags(words, control::Variable);
  if (!line.ok()) return line.status();
  const auto node = config::LoadNodeConfig(line->values, control::Variable);
  if (!node.ok()) return node.status();
  const config::Options& options = node->options;
  const control::NetConf& conf = node->conf;
  if (options.node_name.empty()) {
    return absl::InvalidArgumentError(
        "the Node's name is not known: give --node-name, or set the variable NODE_NAME");
  }
  const auto keys = kube::AnnotationKeys::Of(options.kube_annotation_prefix);
  if (!keys.ok()) return keys.status();
  OfflinePlan out;
  out.facts = node->notes;
  if (!node->unprotected.empty()) out.facts.push_back(node->unprotected);
  Leases leases;
  std::vector<IpAddress> servers;
  if (options.kube_subnet_mgr) {
    auto read = ReadCluster(options, *keys, timeout, leases);
    if (!read.ok()) return read.status();
    servers = *std::move(read);
  } else if (const absl::Status read = ReadFile(options, *keys, leases); !read.ok()) {
    return read;
  }
  const auto host = host::OpenHost();
  if (!host.ok()) return host.status();
  const auto host_facts =
      underlay::ReadHostFacts(**host, {backend::TunnelDevice(IpFamily::kV4, conf.vni),
                                       backend::TunnelDevice(IpFamily::kV6, conf.vni)});
  if (!host_facts.ok()) return host_facts.status();
  const auto facts = control::DeriveOwnFacts(options.node_name, leases.own, conf, std::nullopt,
                                             leases.table.NameInOtherCase(options.node_name));
  if (!facts.ok()) return facts.status();
  const auto choice = underlay::ChooseUnderlay(options, conf, leases.own, *host_facts);
  if (!choice.ok()) return choice.status();
  const auto plan = backend::MakeNodePlan(*facts, conf, *choice);
  if (!plan.ok()) return plan.status();
  if (!plan->without_v6.empty())
    out.facts.push_back(absl::StrCat("IPv6 cannot be set up: ", plan->without_v6));
  Identify(*facts, conf, *host_facts, choice->index, **host, servers, leases, out);

  out.facts.push_back(absl::StrCat(
      "Node ", options.node_name, ", interface ", underlay::Text(*choice), ", data plane ",
      config::Name(options.data_plane), ", ", leases.table.Peers().usable, " of ",
      leases.table.Peers().all, " peers can be used"));
  const bool overlay =
      options.data_plane == DataPlane::kHns && conf.type == control::BackendType::kVxlan;
  AddSubnetFile(*plan, options, out);
  if (options.kube_subnet_mgr)
    AddAnnotations(*facts, conf, *choice, *leases.own, *keys, overlay, out);
  if (overlay) {
    AddSourceVip(*plan, options, conf, out);
    AddFirewall(**host, options, conf, out);
  }
  if ((options.data_plane == DataPlane::kHns || options.hns_emulator) && plan->v4 &&
      conf.type != control::BackendType::kAlloc) {
    auto hns = PlanHns(*plan, options, conf, *host_facts, leases.table);
    if (!hns.ok()) return hns.status();
    out.hns = *std::move(hns);
  }
  if (options.data_plane == DataPlane::kUserspace && conf.type == control::BackendType::kVxlan)
    AddTunnels(backend::TunnelConfigs(*plan, options, conf), *host_facts, out);
  if (options.data_plane != DataPlane::kNone && conf.type == control::BackendType::kHostGw) {
    const std::string& folder = options.state_dir;
    ledger::Ledger ledger(folder.empty() ? control::DefaultStateFolder() : folder, /*open=*/false);
    const bool by_ledger = (*host)->is_windows();
    if (const absl::Status read = by_ledger ? ledger.Load() : absl::OkStatus(); !read.ok())
      out.facts.push_back(
          absl::StrCat("not looked at: which routes are an earlier flanneld's: ", read.message()));
    for (const auto& routes : backend::HostRouteConfigs(*plan, conf, /*into_tunnels=*/false)) {
      const absl::Status status =
          AddRoutes(routes, *host_facts, by_ledger ? &ledger : nullptr, leases.table, out);
      if (!status.ok()) return status;
    }
  }
  if (config::HasTunDevices() && options.data_plane != DataPlane::kHns)
    out.facts.emplace_back("not looked at: the packet filter's rules");
  return out;
}

}  // namespace weft::cli
