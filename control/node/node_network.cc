// SPDX-License-Identifier: Apache-2.0
#include "control/node/node_network.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "control/log.h"
#include "control/node/backends.h"
#include "control/underlay/own_underlay.h"
#include "vxlan/text/printable.h"

namespace weft::node {
namespace {

// From then on a lost address or link is reported: a virtual switch that is created takes less.
constexpr auto kLinkTime = std::chrono::seconds(10);

// How long another Node has our former subnet before subnet.env is removed: our Node may only be
// registered again.
constexpr std::chrono::seconds kTakenTime{60};

// Between readings of the host while no interface fits and no change is reported: it may have many
// routes.
constexpr auto kHostPause = std::chrono::seconds(2);

constexpr char kPublishedV6[] =
    "; until then what peers send to this node's IPv6 pods is lost: its lease has IPv6 all the "
    "same, because upstream's dual-stack peers take none without it, not even for IPv4";

std::optional<SubnetEnvFamily> FamilyOf(const std::optional<backend::FamilyPlan>& plan) {
  if (!plan) return std::nullopt;
  return SubnetEnvFamily{plan->network, plan->subnet};
}

// Whether the adapters of the routes in `before` are unchanged: adapters that come and go with pods
// have no such routes. The system reports new routes.
bool HasSameAdapters(const underlay::HostFacts& before, const std::vector<host::Adapter>& now) {
  for (const std::vector<host::Route>* routes : {&before.routes_v4, &before.routes_v6}) {
    for (const host::Route& route : *routes) {
      const host::Adapter* const was = underlay::ByIndex(route.adapter_index, before.adapters);
      const host::Adapter* const is = underlay::ByIndex(route.adapter_index, now);
      if (!was || !is || *was != *is) return false;
    }
  }
  return !before.routes_v4.empty() || !before.routes_v6.empty();
}

}  // namespace

SubnetEnv EnvOf(const backend::NodePlan& plan, bool ip_masq) {
  return {FamilyOf(plan.v4), FamilyOf(plan.v6), plan.mtu, ip_masq};
}

NodeNetwork::NodeNetwork(const backend::Context& context,
                         std::shared_ptr<host::PacketFilter> filter)
    : context_(context),
      backends_(MakeBackends(context)),
      carries_routes_(
          context.options.data_plane == config::DataPlane::kHns ||
          (context.options.data_plane == config::DataPlane::kRoutes && context.host.is_windows())),
      static_routes_(context.host, context.conf, context.ledger, context.options.hns_base_network),
      static_ip_(context.host, context.ledger, context.options.hns_base_network),
      pod_rules_(std::move(filter), context.ledger, context.options.iptables_resync),
      subnet_file_(context.options.subnet_file),
      source_vip_(context.options.source_vip_store, context.options.source_vip_file) {}

NodeNetwork::~NodeNetwork() { Close(); }

void NodeNetwork::Apply(const absl::StatusOr<control::OwnFacts>& facts, control::TimePoint now) {
  if (facts.ok() && !context_.reconciler.is_own_recalled()) WithdrawForeignFile(*facts);
  WithdrawTakenFile(facts.ok(), now);
  const std::optional<lease::OwnNode>& node = context_.reconciler.own_node();
  if (is_due(now)) {
    host_again_.reset();
    HostChanged();
  }
  const absl::StatusOr<underlay::HostFacts> host = ReadHost();
  if (host.ok())
    for (const auto& backend : backends_) backend->OnAdapters(host->adapters);
  const absl::StatusOr<underlay::InterfaceChoice> choice =
      host.ok() ? underlay::ChooseUnderlay(context_.options, context_.conf, node, *host, &underlay_,
                                           plan_ ? &plan_->underlay : nullptr, now)
                : absl::StatusOr<underlay::InterfaceChoice>(host.status());
  if (host.ok()) ReadClaims(*host, choice.ok() ? choice->index : plan_ ? plan_->underlay.index : 0);
  const bool lost = host.ok() && plan_ && absl::IsUnavailable(choice.status());
  interface_condition_.Set(lost ? "" : choice.status().message());
  if (lost || choice.ok())
    no_link_ =
        lost ? std::string(choice.status().message()) : underlay::LinkCondition(*choice, *host);
  ReportLink(now);
  std::optional<control::TimePoint> again;
  if (carries_routes_ && host.ok()) {
    again = static_ip_.Inspect(
        *host, choice.ok() ? underlay::ByIndex(choice->index, host->adapters) : nullptr, now);
  }
  if (!choice.ok()) {
    if (!host_again_) host_again_ = again.value_or(now + kHostPause);
    return;
  }
  host_again_ = again;
  if (!facts.ok()) {
    const bool unread = absl::IsUnavailable(facts.status());  // the source's check reports it
    return own_condition_.Set(unread ? "" : absl::StrCat("waiting: ", facts.status().message()));
  }
  own_condition_.Set("");
  public_ip_condition_.Set(underlay::PublicIpCondition(context_.options, *node, *choice));
  interface_ = choice->name;
  if (carries_routes_) static_routes_.Inspect(*host, *choice);
  absl::StatusOr<backend::NodePlan> plan = backend::MakeNodePlan(*facts, context_.conf, *choice);
  const std::string narrow = plan.ok() ? plan->without_v6 : "";
  const bool keeps_v6 = !narrow.empty() && plan_ && plan_->v6;  // pods have it, in fragments
  mtu_condition_.Set(narrow.empty() ? underlay::MtuCondition(*choice, context_.conf)
                                    : absl::StrCat("IPv6 cannot be set up",
                                                   keeps_v6 ? " at the next start: " : ": ", narrow,
                                                   keeps_v6 ? "" : kPublishedV6));
  if (keeps_v6) {
    underlay::InterfaceChoice wider = *choice;
    wider.mtu = plan_->underlay.mtu;
    plan = backend::MakeNodePlan(*facts, context_.conf, wider);
  }
  const absl::Status status = plan.ok() ? Build(*plan, *host) : plan.status();
  backend_condition_.Set(status.message());
}

absl::Status NodeNetwork::Build(const backend::NodePlan& plan, const underlay::HostFacts& facts) {
  for (const auto& backend : backends_) {
    if (absl::Status status = backend->Configure(plan, facts); !status.ok()) return status;
  }
  for (const auto& backend : backends_) backend->Inspect(facts);
  if (plan_ == plan && IsComplete()) return absl::OkStatus();
  ReportMove(plan.underlay);
  plan_ = plan;
  was_in_sync_ = false;
  if (context_.options.data_plane != config::DataPlane::kNone)
    pod_rules_.SetDesired(PodRulesFor(plan), std::chrono::steady_clock::now());
  for (const auto& backend : backends_) {
    if (absl::Status status = backend->Open(); !status.ok()) return status;
    if (!backend->IsUp()) break;
  }
  return absl::OkStatus();
}

bool NodeNetwork::IsComplete() const {
  return plan_ && std::all_of(backends_.begin(), backends_.end(),
                              [](const auto& backend) { return backend->IsComplete(); });
}

// ---- the host

absl::StatusOr<underlay::HostFacts> NodeNetwork::ReadHost() {
  if (!host_changed_) {
    absl::StatusOr<std::vector<host::Adapter>> adapters = context_.host.Adapters();
    if (!adapters.ok()) return adapters.status();
    const bool same = host_facts_.adapters == *adapters;
    if (same || (!carries_routes_ && HasSameAdapters(host_facts_, *adapters))) {
      host_facts_.adapters = *std::move(adapters);
      return host_facts_;
    }
    host_changed_ = true;
  }
  const Vni vni = context_.conf.vni;
  absl::StatusOr<underlay::HostFacts> facts = underlay::ReadHostFacts(
      context_.host,
      {backend::TunnelDevice(IpFamily::kV4, vni), backend::TunnelDevice(IpFamily::kV6, vni)});
  if (!facts.ok()) return facts;
  host_facts_ = *std::move(facts);
  host_changed_ = false;
  if (!carries_routes_) {
    for (std::vector<host::Route>* routes : {&host_facts_.routes_v4, &host_facts_.routes_v6}) {
      std::erase_if(*routes,
                    [](const host::Route& route) { return route.destination.length() != 0; });
      routes->shrink_to_fit();
    }
  }
  return host_facts_;
}

bool NodeNetwork::RoutesChanged(const host::RouteChanges& changes) {
  const auto is_fact = [&](const host::RouteChange& change) {
    const IpPrefix& destination = change.route.destination;
    const std::optional<IpPrefix>& network = context_.conf.network_of(destination.family());
    if (change.whole_adapter) return false;  // the adapters show it
    return destination.length() == 0 ||
           (carries_routes_ && !(network && network->Contains(destination)));
  };
  if (changes.empty() || std::any_of(changes.begin(), changes.end(), is_fact)) HostChanged();
  for (const auto& backend : backends_) backend->OnRoutes();
  return std::any_of(backends_.begin(), backends_.end(),
                     [&](const auto& backend) { return backend->IsConcernedBy(changes); });
}

void NodeNetwork::RecheckRoutes(bool all) {
  for (const auto& backend : backends_) backend->RecheckRoutes(all);
}

// Another adapter with the same addresses is no move.
void NodeNetwork::ReportMove(const underlay::InterfaceChoice& next) {
  const std::optional<lease::OwnNode>& node = context_.reconciler.own_node();
  std::string reason;
  for (IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
    if (!plan_ || !node || !next.of(family) || !plan_->underlay.of(family)) continue;
    const underlay::ChosenFamily &before = *plan_->underlay.of(family), &after = *next.of(family);
    if (before.address == after.address && before.public_ip == after.public_ip) continue;
    const lease::OwnNodeFamily& own = family == IpFamily::kV4 ? node->v4 : node->v6;
    reason = !underlay_.reason().empty()        ? underlay_.reason()
             : !own.public_ip_overwrite.empty() ? "requested by the annotation public-ip-overwrite"
             : !own.node_public_ip.empty()      ? "requested by the annotation node-public-ip"
                                                : "an annotation that named its public IP is gone";
  }
  if (reason.empty()) return;
  control::LogWarning(absl::StrCat("this node moves from ", Text(plan_->underlay), " to ",
                                   Text(next), ": ", reason, " (move ", ++moves_,
                                   " of this process)"));
}

void NodeNetwork::ReportLink(control::TimePoint now) {
  const bool lasts = underlay::Lasts(!no_link_.empty(), kLinkTime, now, no_link_since_);
  link_condition_.Set(lasts ? no_link_ : "", now);
}

void NodeNetwork::ReadClaims(const underlay::HostFacts& facts, std::uint32_t underlay_index) {
  std::vector<std::string> own_devices = facts.own_devices;
  own_devices.push_back(context_.options.pod_device.adapter);
  absl::StatusOr<std::vector<IpAddress>> servers = context_.host.NameServers();
  name_servers_note_.Set(
      servers.ok() ? ""
                   : absl::StrCat("this host's name servers are not known, so a lease with one of "
                                  "them is not refused: ",
                                  servers.status().message(), "; let flanneld read them"));
  if (servers.ok()) name_servers_ = *std::move(servers);
  claims_ = underlay::ClaimsOf(facts, name_servers_, own_devices, underlay_index);
}

// ---- what backends decide

std::optional<backend::LeaseFacts> NodeNetwork::lease_facts() const {
  for (const auto& backend : backends_)
    if (auto facts = backend->lease_facts()) return facts;
  return std::nullopt;
}

std::optional<MacAddress> NodeNetwork::vtep_mac() const {
  const auto facts = lease_facts();
  return facts ? facts->vtep_mac : std::nullopt;
}

bool NodeNetwork::is_up() const {
  const auto facts = lease_facts();
  return IsComplete() && !(facts && facts->has_vtep_mac && !facts->vtep_mac);
}

std::optional<IpAddress> NodeNetwork::public_ip(IpFamily family) const {
  if (!plan_ || !plan_->underlay.of(family)) return std::nullopt;
  const underlay::ChosenFamily& chosen = *plan_->underlay.of(family);
  const auto facts = lease_facts();
  if (!facts || family != IpFamily::kV4 || chosen.configured) return chosen.public_ip;
  const std::optional<IpAddress>& ip = facts->management_ip;
  if (!ip || *ip == chosen.address) return ip;
  // HNS reports the first address of its adapter, be it a load balancer's that all nodes have, or
  // keeps one that the host has lost: then what is published stays, and a note of HNS names both.
  const host::Adapter* const bound = underlay::OwnerOf(*ip, host_facts_.adapters);
  const host::Adapter* const home = underlay::OwnerOf(chosen.address, host_facts_.adapters);
  const std::optional<lease::OwnNode>& node = context_.reconciler.own_node();
  if (underlay::IsUnset(*ip) || !home || (!bound && !was_in_sync_)) return std::nullopt;
  if (!bound && node && node->v4.published_public_ip) return node->v4.published_public_ip;
  return bound && bound != home ? ip : std::optional(chosen.public_ip);
}

void NodeNetwork::OnHnsChange() {
  for (const auto& backend : backends_) backend->OnHnsChange();
}

void NodeNetwork::Poll(control::TimePoint now) {
  ReportLink(now);
  for (const auto& backend : backends_) backend->Poll(now);
  if (!context_.ledger) return;
  context_.ledger->Retry(now);
  ledger_condition_.Set(context_.ledger->condition());
}

bool NodeNetwork::RequestPlan(bool repair, const backend::PlanReply& reply) {
  return std::any_of(backends_.begin(), backends_.end(),
                     [&](const auto& backend) { return backend->RequestPlan(repair, reply); });
}

void NodeNetwork::CloseBroken(const std::string& device, const absl::Status& why) {
  control::LogError(absl::StrCat("the packet thread of ", device, " ended: ", why.message()));
  for (const auto& backend : backends_) backend->CloseDevice(device);
}

void NodeNetwork::Close() {
  for (const auto& backend : backends_) backend->Close();
}

// ---- packet filter and subnet.env

PodRules::Desired NodeNetwork::PodRulesFor(const backend::NodePlan& plan) const {
  PodRules::Desired desired;
  const auto append = [](std::vector<host::FilterRule>& to, std::vector<host::FilterRule> rules) {
    to.insert(to.end(), rules.begin(), rules.end());
  };
  for (const auto& own : {plan.v4, plan.v6}) {
    if (!own) continue;
    if (context_.options.ip_masq) {
      append(desired.masquerade,
             host::MasqueradeRules(
                 {own->network, own->subnet},
                 {context_.conf.nftables, !context_.options.ip_masq_fully_random_disable}));
    }
    if (context_.options.iptables_forward_rules)
      append(desired.forward, host::ForwardRules(own->network));
  }
  return desired;
}

// From a new lease until its first snapshot no pod may start with the old subnet. For any other
// change the file stays until its new text replaces it.
void NodeNetwork::WithdrawForeignFile(const control::OwnFacts& facts) {
  const SubnetEnv lease = LeaseOf(facts);
  kept_file_.reset();
  if (lease_ == lease && file_judged_) return;
  lease_ = lease;
  const absl::StatusOr<std::string> other = subnet_file_.WithdrawUnlessOf(lease);
  file_condition_.Set(other.status().message());
  file_judged_ = other.ok();
  if (other.ok() && !other->empty())
    control::LogInfo(absl::StrCat("removed ", subnet_file_.path(),
                                  " until this node is ready: it was written for ", *other));
}

void NodeNetwork::WithdrawTakenFile(bool has_lease, control::TimePoint now) {
  const control::Reconciler& reconciler = context_.reconciler;
  if (has_lease || !withheld_)
    left_subnets_ = has_lease ? std::vector<IpPrefix>() : subnet_file_.Subnets();
  if (has_lease) withheld_ = false;
  std::string taken;
  for (const IpPrefix& subnet : left_subnets_) {
    const auto& own = reconciler.own_node();
    const bool is_ours = own && (subnet.family() == IpFamily::kV4 ? own->v4 : own->v6).subnet;
    const std::string user =
        is_ours || !reconciler.is_current() ? "" : reconciler.table().UserOf(subnet);
    if (user.empty()) continue;
    taken = absl::StrCat(subnet.ToString(), ", which is node ", Quoted(user),
                         "'s, and our Node is missing or has no podCIDR: new pods would get "
                         "addresses that the cluster routes elsewhere; ");
  }
  if (taken.empty()) {
    taken_condition_.Set("", now);
    return taken_since_.reset();
  }
  if (!taken_since_) taken_since_ = now;
  if (!withheld_ && now - *taken_since_ >= kTakenTime) {
    const absl::StatusOr<std::string> removed = subnet_file_.WithdrawUnlessOf({});
    file_condition_.Set(removed.status().message(), now);
    withheld_ = removed.ok();
  }
  taken_condition_.Set(
      absl::StrCat(
          "subnet file ", subnet_file_.path(), withheld_ ? " was removed: it named " : " names ",
          taken,
          withheld_ ? "it" : absl::StrCat("it is removed after ", kTakenTime.count(), " s, and"),
          " is back once our Node has a subnet; register it, or have its podCIDR "
          "assigned"),
      now);
}

SubnetEnv NodeNetwork::LeaseOf(const control::OwnFacts& facts) const {
  SubnetEnv lease;
  if (facts.v4 && context_.conf.network)
    lease.v4 = SubnetEnvFamily{*context_.conf.network, facts.v4->subnet};
  if (facts.v6 && context_.conf.ipv6_network)
    lease.v6 = SubnetEnvFamily{*context_.conf.ipv6_network, facts.v6->subnet};
  return lease;
}

bool NodeNetwork::KeepFileOf(const control::OwnFacts& facts) {
  kept_file_ = LeaseOf(facts);
  if (!subnet_file_.IsOf(*kept_file_)) kept_file_.reset();
  return kept_file_.has_value();
}

SubnetEnv NodeNetwork::Env() const {
  return EnvOf(*plan_, context_.options.ip_masq && pod_rules_.masquerades());
}

// kube-proxy uses it on an overlay network alone.
void NodeNetwork::KeepSourceVip(control::TimePoint now) {
  const config::Options& options = context_.options;
  const bool overlay = options.data_plane == config::DataPlane::kHns &&
                       context_.conf.type == control::BackendType::kVxlan;
  if (!overlay || options.source_vip_store.empty() || !plan_ || !plan_->v4) return;
  const backend::LeaseFacts facts = lease_facts().value_or(backend::LeaseFacts());
  source_vip_.Keep(context_.conf.name, plan_->v4->subnet,
                   {facts.management_ip.has_value(), facts.source_vip_known, facts.source_vip},
                   now);
  if (!source_vip_.awaits_used()) return;
  for (const auto& backend : backends_) backend->RequestSourceVip();
}

void NodeNetwork::Settle(bool ready, control::TimePoint now) {
  const bool recalled = context_.reconciler.is_recalled();
  if (std::exchange(was_recalled_, recalled) && !recalled) was_in_sync_ = false;
  KeepSourceVip(now);
  if (ready && std::all_of(backends_.begin(), backends_.end(),
                           [](const auto& backend) { return backend->IsUp(); }))
    was_in_sync_ = true;
  if (!was_in_sync_ || !IsComplete() || withheld_) return;
  const SubnetEnv env = Env();
  // The lease may change while its interface is waited for; a recalled one is not written.
  if (!lease_ || env.v4 != lease_->v4) return;
  if (env.v6 != lease_->v6 && plan_->without_v6.empty()) return;
  const std::string text = Text(env);
  const bool first = !subnet_file_.written(), matched = !first && subnet_file_.Matches(text);
  file_condition_.Set(subnet_file_.Keep(text, now).message(), now);
  if (const std::string& was = subnet_file_.replaced(); !was.empty())
    control::LogWarning(absl::StrCat("restored ", subnet_file_.path(), ": ", was));
  else if (!matched && subnet_file_.Matches(text))
    control::LogInfo(absl::StrCat(first ? "wrote " : "replaced ", subnet_file_.path()));
}

}  // namespace weft::node
