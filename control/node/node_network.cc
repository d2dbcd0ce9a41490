// SPDX-License-Identifier: Apache-2.0
#include "control/node/node_network.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "control/log.h"
#include "control/node/pod_device.h"
#include "control/underlay/own_underlay.h"

namespace weft::node {
namespace {

// So long an adapter is gone at most while a switch is bound to it.
constexpr auto kBindTime = std::chrono::minutes(2);

// While no interface fits, the host is read again at most so often without a word of a change: its
// routes may be many.
constexpr auto kHostPause = std::chrono::seconds(3);

control::Families FamiliesOf(IpFamily family) {
  return family == IpFamily::kV4 ? control::Families::kV4 : control::Families::kV6;
}

SetupOptions SetupOptionsOf(const config::Options& options) {
  const bool userspace = options.data_plane == config::DataPlane::kUserspace;
  const bool by_hns = options.data_plane == config::DataPlane::kHns;
  return {userspace,
          options.data_plane != config::DataPlane::kNone,
          options.udp_checksum,
          options.peer_check,
          options.ip_masq,
          by_hns                 ? HnsRole::kPrimary
          : options.hns_emulator ? HnsRole::kFollower
                                 : HnsRole::kNone,
          options.hns_base_network,
          options.iface};
}

}  // namespace

NodeNetwork::NodeNetwork(const config::Options& options, const control::NetConf& conf,
                         std::unique_ptr<host::Host> host, Hns hns,
                         std::shared_ptr<ledger::NodeLedger> ledger,
                         control::Reconciler& reconciler, OnBroken on_broken,
                         std::shared_ptr<host::PacketFilter> filter)
    : options_(options),
      conf_(conf),
      host_(std::move(host)),
      reconciler_(reconciler),
      on_broken_(std::move(on_broken)),
      hns_(std::move(hns)),
      ledger_(std::move(ledger)),
      hns_ledger_(ledger_ && hns_.api ? std::make_shared<ledger::HnsLedger>(ledger_) : nullptr),
      route_ledger_(ledger_ ? std::make_unique<ledger::RouteLedger>(ledger_) : nullptr),
      upkeep_(*host_, conf, ledger_, options.hns_base_network),
      pod_rules_(std::move(filter), ledger_, options.iptables_resync),
      subnet_file_(options.subnet_file) {}

NodeNetwork::~NodeNetwork() { Close(); }

void NodeNetwork::Apply(const absl::StatusOr<control::OwnFacts>& facts, control::TimePoint now) {
  if (facts.ok()) WithdrawOthersFile(*facts);
  const std::optional<lease::OwnNode>& node = reconciler_.own_node();
  if (host_again_ && now >= *host_again_) {
    host_again_.reset();
    HostChanged();
  }
  const std::optional<IpAddress> awaited = AwaitedByHns();  // before the adapters are read
  const absl::StatusOr<underlay::HostFacts> host = ReadHost();
  if (host.ok() && awaited && underlay::OwnerOf(*awaited, host->adapters))
    hns_sink_->SetAdapterThere();
  if (host.ok()) ReadClaims(*host);
  const absl::StatusOr<underlay::InterfaceChoice> choice =
      host.ok()
          ? underlay::ChooseUnderlay(options_, conf_, node, *host,
                                     setup_ ? &setup_->underlay : nullptr, MayReturn(*host, now))
          : absl::StatusOr<underlay::InterfaceChoice>(host.status());
  interface_trouble_.Set(choice.status().message());
  if (!choice.ok()) {
    if (!host_again_) host_again_ = now + kHostPause;
    return;
  }
  host_again_.reset();
  if (!facts.ok()) {
    const bool unread = absl::IsUnavailable(facts.status());  // said by the source's check
    return own_trouble_.Set(unread ? "" : absl::StrCat("waiting: ", facts.status().message()));
  }
  own_trouble_.Set("");
  public_ip_trouble_.Set(underlay::PublicIpCondition(options_, *node, *choice));
  interface_ = choice->name;
  link_trouble_.Set(underlay::LinkCondition(*choice, *host));
  mtu_trouble_.Set(underlay::MtuCondition(*choice, conf_));
  if (carries_routes()) upkeep_.Look(*host, *choice);
  const absl::StatusOr<Setup> setup =
      MakeSetup(*facts, conf_, *choice, SetupOptionsOf(options_), host->adapters);
  const absl::Status status = setup.ok() ? Rebuild(*setup, *host) : setup.status();
  if (status.ok()) FollowUnderlay(*host);
  tunnel_trouble_.Set(status.message());
}

// Windows may not list a NIC while a switch is bound to it.
bool NodeNetwork::MayReturn(const underlay::HostFacts& facts, control::TimePoint now) {
  if (!setup_ || !host_->is_windows() || underlay::IsThere(setup_->underlay, facts.adapters)) {
    missing_since_.reset();
    return false;
  }
  if (!missing_since_) missing_since_ = now;
  return now - *missing_since_ < kBindTime;
}

// Between another lease and its first truth no pod may start with the old subnet. For any other
// change the file stays until its new text takes its place.
void NodeNetwork::WithdrawOthersFile(const control::OwnFacts& facts) {
  SubnetEnv lease;
  if (facts.v4 && conf_.network) lease.v4 = SubnetEnvFamily{*conf_.network, facts.v4->subnet};
  if (facts.v6 && conf_.ipv6_network)
    lease.v6 = SubnetEnvFamily{*conf_.ipv6_network, facts.v6->subnet};
  if (lease_ == lease && file_judged_) return;
  lease_ = lease;
  const absl::StatusOr<std::string> other = subnet_file_.WithdrawUnlessOf(lease);
  file_trouble_.Set(other.status().message());
  file_judged_ = other.ok();
  if (other.ok() && !other->empty())
    control::LogInfo(
        absl::StrCat("withdrew ", subnet_file_.path(), ": it is of another lease, ", *other));
}

void NodeNetwork::ReadClaims(const underlay::HostFacts& facts) {
  std::vector<std::string> own_devices;
  if (setup_) {
    for (const TunnelConfig& tunnel : setup_->tunnels) own_devices.push_back(tunnel.device);
  }
  const absl::StatusOr<std::vector<IpAddress>> servers = host_->NameServers();
  claims_ =
      underlay::ClaimsOf(facts, servers.ok() ? *servers : std::vector<IpAddress>(), own_devices);
}

absl::Status NodeNetwork::Rebuild(const Setup& setup, const underlay::HostFacts& facts) {
  for (std::size_t i = tunnels_.size(); i-- > 0;) {
    const Tunnel& tunnel = *tunnels_[i];
    const bool wanted = std::find(setup.tunnels.begin(), setup.tunnels.end(), tunnel.config()) !=
                        setup.tunnels.end();
    if (wanted && tunnel.IsIntact(facts.adapters)) continue;
    control::LogInfo(absl::StrCat("taking down ", tunnel.config().device,
                                  wanted ? ": its device was changed or is gone" : ""));
    CloseTunnel(i);
  }
  CloseHostRoutesUnless(setup.host_routes);
  if (bridge_ && hns_decides()) bridge_->Forward(facts.adapters);
  if (setup_ == setup && IsComplete()) return absl::OkStatus();

  setup_ = setup;
  was_in_sync_ = false;
  if (options_.data_plane != config::DataPlane::kNone)
    pod_rules_.Want(PodRulesFor(setup.env), std::chrono::steady_clock::now());
  for (const TunnelConfig& config : setup.tunnels) {
    const bool open = std::any_of(tunnels_.begin(), tunnels_.end(),
                                  [&](const auto& t) { return t->config() == config; });
    if (open) continue;
    if (absl::Status status = OpenTunnel(config); !status.ok()) return status;
  }
  PutHns(setup.overlay);
  PutBridge(setup.bridge);
  if (!BridgeStands()) return absl::OkStatus();
  for (const control::HostRouteConfig& config : setup.host_routes) {
    const bool open = std::any_of(host_routes_.begin(), host_routes_.end(),
                                  [&](const auto& routes) { return routes.config == config; });
    if (!open) OpenHostRoutes(config);
  }
  return absl::OkStatus();
}

std::optional<IpAddress> NodeNetwork::public_ip(IpFamily family) const {
  if (!setup_ || !setup_->underlay.of(family)) return std::nullopt;
  const underlay::ChosenFamily& chosen = *setup_->underlay.of(family);
  const bool by_hns = hns_decides() && family == IpFamily::kV4 && (hns_sink_ || bridge_);
  if (!by_hns || chosen.configured) return chosen.public_ip;
  const std::optional<IpAddress> ip =
      hns_sink_ ? hns_sink_->State().outcome.management_ip : bridge_->management_ip();
  return ip && underlay::IsUnset(*ip) && *ip != chosen.address ? std::nullopt : ip;
}

std::optional<IpAddress> NodeNetwork::AwaitedByHns() const {
  if (!hns_sink_) return std::nullopt;
  const hns::OverlayOutcome outcome = hns_sink_->State().outcome;
  return outcome.awaits_adapter ? outcome.management_ip : std::nullopt;
}

std::optional<MacAddress> NodeNetwork::router_mac() const {
  if (!hns_sink_ || !hns_decides()) return std::nullopt;
  const hns::OverlayOutcome outcome = hns_sink_->State().outcome;
  return outcome.management_ip ? outcome.dr_mac : std::nullopt;
}

void NodeNetwork::PutHns(const std::optional<hns::OverlayWish>& wish) {
  if (hns_sink_ && (!wish || wish->isolation_id != hns_sink_->wish().isolation_id ||
                    wish->name != hns_sink_->wish().name)) {
    reconciler_.RemoveSink(*hns_sink_);
    hns_sink_.reset();
  }
  if (!wish) return;
  if (hns_decides()) upkeep_.AllowTunnel(wish->port);
  if (hns_sink_) return hns_sink_->SetWish(*wish);
  hns_sink_ = std::make_unique<control::HnsSink>(hns_.api, *wish, hns_.on_change,
                                                 control::RoundThread::Limits(), hns_ledger_,
                                                 hns_decides() && host_->is_windows());
  control::LogInfo(
      absl::StrCat("peers are reached by the ", hns_sink_->name(), " on ", wish->adapter));
  reconciler_.AddSink(*hns_sink_, control::Families::kV4);
}

void NodeNetwork::PutBridge(const std::optional<hns::BridgeWish>& wish) {
  if (!wish) return bridge_.reset();
  if (bridge_) return bridge_->SetWish(*wish);
  bridge_ = std::make_unique<Bridge>(*host_, hns_.api, *wish, hns_.on_change, hns_ledger_);
  control::LogInfo(absl::StrCat("pods are reached through the HNS network ", wish->name));
}

void NodeNetwork::HnsChanged() {
  if (bridge_ && hns_decides()) bridge_->Changed();
  if (hns_sink_) reconciler_.OnSinkReport(*hns_sink_, hns_sink_->Report());
}

void NodeNetwork::LookAtHns() {
  const auto now = std::chrono::steady_clock::now();
  if (hns_sink_ && hns_decides()) upkeep_.AllowTunnel(hns_sink_->wish().port, now);
  if (hns_sink_) hns_trouble_.Set(hns_sink_->Look(now));
  if (bridge_) hns_trouble_.Set(bridge_->Look(now));
  if (!ledger_) return;
  ledger_->Retry(now);
  ledger_trouble_.Set(ledger_->trouble());
}

void NodeNetwork::FollowUnderlay(const underlay::HostFacts& facts) {
  if (host_routes_.empty() && !conf_.direct_routing) return;
  bool look = false;
  for (const host::Adapter& adapter : facts.adapters) {
    if (adapter.index != setup_->underlay.index || adapter.addresses == underlay_addresses_)
      continue;
    look = !underlay_addresses_.empty();
    underlay_addresses_ = adapter.addresses;
  }
  if (look) reconciler_.ResyncAll();
}

void NodeNetwork::OpenHostRoutes(const control::HostRouteConfig& config) {
  host_routes_.push_back(
      {config, std::make_unique<control::HostRouteSink>(*host_, config, route_ledger_.get())});
  control::LogInfo(absl::StrCat("peers are reached by ", host_routes_.back().sink->name()));
  reconciler_.AddSink(*host_routes_.back().sink, FamiliesOf(config.family));
}

void NodeNetwork::CloseHostRoutesUnless(const std::vector<control::HostRouteConfig>& wanted) {
  std::erase_if(host_routes_, [&](const HostRoutes& routes) {
    if (std::find(wanted.begin(), wanted.end(), routes.config) != wanted.end()) return false;
    reconciler_.RemoveSink(*routes.sink);
    return true;
  });
}

PodRules::Desired NodeNetwork::PodRulesFor(const SubnetEnv& env) const {
  PodRules::Desired desired;
  const auto append = [](std::vector<host::FilterRule>& to, std::vector<host::FilterRule> rules) {
    to.insert(to.end(), rules.begin(), rules.end());
  };
  for (const auto& own : {env.v4, env.v6}) {
    if (!own) continue;
    if (options_.ip_masq) {
      append(desired.masquerade,
             host::MasqueradeRules({own->network, own->subnet},
                                   {conf_.nftables, !options_.ip_masq_fully_random_disable}));
    }
    if (options_.iptables_forward_rules) append(desired.forward, host::ForwardRules(own->network));
  }
  return desired;
}

void NodeNetwork::LookAtPodRules(PodRules::Clock::time_point now) { pod_rules_.Look(now); }

absl::Status NodeNetwork::OpenTunnel(const TunnelConfig& config) {
  const bool replace = options_.replace_kernel_device && !replaced_devices_.contains(config.device);
  const absl::StatusOr<bool> replaced = ClearPlace(config.device, config.vni, replace);
  if (!replaced.ok()) return replaced.status();
  if (*replaced) {
    replaced_devices_.insert(config.device);
    control::LogInfo(absl::StrCat("deleted the kernel's vxlan device ", config.device,
                                  " (--replace-kernel-device)"));
  }
  absl::StatusOr<std::unique_ptr<Tunnel>> tunnel =
      Tunnel::Open(config, *host_, route_ledger_.get(),
                   [on_broken = on_broken_, device = config.device](const absl::Status& status) {
                     on_broken(device, status);
                   });
  if (absl::IsAlreadyExists(tunnel.status())) {
    // Whoever has the port or the name may go: it is tried again.
    const std::string holders = PortHolders(config.port);
    return absl::UnavailableError(
        absl::StrCat(tunnel.status().message(), holders.empty() ? "" : ": ", holders));
  }
  if (!tunnel.ok()) return tunnel.status();
  for (lease::Sink* sink : (*tunnel)->sinks())
    reconciler_.AddSink(*sink, FamiliesOf(config.family));
  tunnels_.push_back(*std::move(tunnel));
  control::LogInfo(absl::StrCat(config.device, " is up: ", config.subnet.base().ToString(),
                                ", MTU ", config.mtu.octets(), ", VTEP MAC ",
                                config.vtep_mac.ToString(), ", UDP port ", config.port, " on ",
                                setup_->underlay.name));
  return absl::OkStatus();
}

void NodeNetwork::CloseTunnel(std::size_t index) {
  for (lease::Sink* sink : tunnels_[index]->sinks()) reconciler_.RemoveSink(*sink);
  tunnels_.erase(tunnels_.begin() + static_cast<std::ptrdiff_t>(index));
}

void NodeNetwork::CloseBroken(const std::string& device, const absl::Status& why) {
  control::LogError(absl::StrCat("the packet thread of ", device, " ended: ", why.message()));
  for (std::size_t i = tunnels_.size(); i-- > 0;) {
    if (tunnels_[i]->config().device == device) CloseTunnel(i);
  }
}

void NodeNetwork::Close() {
  while (!tunnels_.empty()) CloseTunnel(tunnels_.size() - 1);
  CloseHostRoutesUnless({});
  PutHns(std::nullopt);
  PutBridge(std::nullopt);
}

std::string NodeNetwork::EnvText() const {
  SubnetEnv env = setup_->env;
  env.ip_masq = env.ip_masq && pod_rules_.masquerades();
  return Text(env);
}

void NodeNetwork::Settle(bool ready, control::TimePoint now) {
  if (ready && BridgeStands()) was_in_sync_ = true;
  if (!was_in_sync_ || !IsComplete()) return;
  // The lease may be another one while the interface for it is waited for.
  if (!lease_ || setup_->env.v4 != lease_->v4 || setup_->env.v6 != lease_->v6) return;
  const std::string text = EnvText();
  const bool first = !subnet_file_.written(), held = !first && subnet_file_.Holds(text);
  file_trouble_.Set(subnet_file_.Keep(text, now).message(), now);
  if (!held && subnet_file_.Holds(text))
    control::LogInfo(absl::StrCat(first ? "wrote " : "put back ", subnet_file_.path()));
}

}  // namespace weft::node
