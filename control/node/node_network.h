// SPDX-License-Identifier: Apache-2.0
// What stands on this node for its lease: tunnels or host routes, their sinks in the reconciler,
// subnet.env.
//
//   own facts + net-conf + flags + host ──► setup ──► tunnels ──► every sink in sync ──► subnet.env
//
// It has no timers and waits for nothing: each Apply and Settle looks at everything and does what
// can be done now.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/admin/schema.h"
#include "control/config/options.h"
#include "control/host/host.h"
#include "control/ledger/hns_ledger.h"
#include "control/ledger/node_ledger.h"
#include "control/ledger/route_ledger.h"
#include "control/net_conf.h"
#include "control/node/bridge.h"
#include "control/node/host_upkeep.h"
#include "control/node/pod_rules.h"
#include "control/node/setup.h"
#include "control/node/subnet_file.h"
#include "control/node/tunnel.h"
#include "control/own_facts.h"
#include "control/reconciler.h"
#include "control/sinks/hns_sink.h"
#include "control/sinks/host_route_sink.h"
#include "control/trouble.h"
#include "control/underlay/host_needs.h"
#include "control/underlay/interface_choice.h"

namespace weft::node {

// Control thread.
class NodeNetwork {
 public:
  // Called on a packet thread that ended by itself, whose tunnel is to be given to CloseBroken.
  using OnBroken = std::function<void(const std::string& device, const absl::Status& why)>;

  // Where HNS is programmed. `on_change` is called on its thread when HnsChanged has something to
  // do.
  struct Hns {
    std::shared_ptr<hns::Api> api;  // null: it is not
    std::function<void()> on_change;
  };

  // `options`, `conf` and `reconciler` outlive it. `ledger`: of what is made; null: no ledger.
  // `filter`: null where a CNI plugin masquerades pods.
  NodeNetwork(const config::Options& options, const control::NetConf& conf,
              std::unique_ptr<host::Host> host, Hns hns, std::shared_ptr<ledger::NodeLedger> ledger,
              control::Reconciler& reconciler, OnBroken on_broken,
              std::shared_ptr<host::PacketFilter> filter = nullptr);
  ~NodeNetwork();
  NodeNetwork(const NodeNetwork&) = delete;
  NodeNetwork& operator=(const NodeNetwork&) = delete;

  // Brings the tunnels in line with `facts`, which are of the reconciler's own node. What keeps it
  // from that is a check that fails, until a later Apply.
  void Apply(const absl::StatusOr<control::OwnFacts>& facts,
             control::TimePoint now = std::chrono::steady_clock::now());
  // Writes subnet.env once `ready`, the reconciler's, has been true on what HNS has to hold since
  // the last rebuild, and puts it back when it was touched.
  void Settle(bool ready, control::TimePoint now = std::chrono::steady_clock::now());
  // The next Apply opens it again.
  void CloseBroken(const std::string& device, const absl::Status& why);
  // `changed` on any thread: an Apply may find the host otherwise.
  absl::StatusOr<std::unique_ptr<host::Watch>> WatchHost(std::function<void()> changed) {
    return host_->WatchChanges(std::move(changed));
  }
  // `changed` on any thread, for RoutesChanged.
  absl::StatusOr<std::unique_ptr<host::Watch>> WatchRoutes(
      std::function<void(const host::RouteChanges&)> changed) {
    return host_->WatchRoutes(std::move(changed));
  }
  // The next Apply reads the host's routes again; without, it goes by the last reading while their
  // adapters are the same.
  void HostChanged() { host_facts_.reset(); }
  bool host_changed() const { return !host_facts_; }
  // Whether RecheckRoutes may find ours otherwise. Calls HostChanged where others differ that
  // count.
  bool RoutesChanged(const host::RouteChanges& changes);
  // Reads ours again and puts what is lost; `all`: also where nothing was written since the last
  // time.
  void RecheckRoutes(bool all);
  // A watch may miss a change of the host.
  bool may_miss_changes() const { return host_->is_windows(); }
  // Hands the reconciler how HNS stands.
  void HnsChanged();
  // Watches over calls into HNS; about every second.
  void LookAtHns();
  // Puts back what is gone from the host's packet filter; about every second.
  void LookAtPodRules(PodRules::Clock::time_point now);
  // What HNS lacks, told on the HNS thread; `repair`: after it was put right. False: there is
  // nothing in HNS to be asked for.
  bool AskHns(bool repair, std::function<void(absl::StatusOr<admin::Plan>)> told);
  // Takes the devices away; subnet.env, host routes and what HNS holds stay. Idempotent.
  void Close();

  // What this host needs a way to, as of the last Apply; empty: it could not be read yet.
  const std::optional<std::vector<lease::HostClaim>>& claims() const { return claims_; }
  // What is wanted; stands when there is a tunnel for each of its own, and what HNS decides is
  // known. Empty: not known yet.
  const std::optional<Setup>& setup() const { return setup_; }
  bool stands() const {
    return IsComplete() && (!hns_decides() || !setup_->overlay || router_mac());
  }
  // HNS moves the packets, and chooses the MAC of our end of the tunnels.
  bool hns_decides() const { return options_.data_plane == config::DataPlane::kHns; }
  // That MAC, once it is known; there is none without tunnels.
  std::optional<MacAddress> router_mac() const;
  // What peers are to send to: a configured address, else HNS's own where it moves the packets.
  // Empty: not known yet.
  std::optional<IpAddress> public_ip(IpFamily family) const;
  // Peers were told another address of ours than the chosen one. Fails no check.
  const control::Trouble& public_ip_trouble() const { return public_ip_trouble_; }
  // The interface is down, or its MTU is less than net-conf says. Fail no check.
  const control::Trouble& link_trouble() const { return link_trouble_; }
  const control::Trouble& mtu_trouble() const { return mtu_trouble_; }
  // Its troubles fail no check: subnet.env says whether pods are masqueraded.
  const PodRules& pod_rules() const { return pod_rules_; }
  // A call into HNS takes too long, or never came back. Fails no check.
  const control::Trouble& hns_trouble() const { return hns_trouble_; }
  // What is made cannot be entered. Fails no check.
  const control::Trouble& ledger_trouble() const { return ledger_trouble_; }
  // subnet.env cannot be written or withdrawn, or another program changes it.
  const control::Trouble& file_trouble() const { return file_trouble_; }
  // What another user put in the place of subnet.env.
  const control::Trouble& foreign_trouble() const { return subnet_file_.foreign(); }
  // Of the host around HNS; they fail no check.
  const HostUpkeep& upkeep() const { return upkeep_; }
  // "interface", "tunnels", "hns" where it moves the packets, "sinks", "subnet-file".
  void AppendChecks(const control::ReconcilerReport& report,
                    std::vector<admin::Check>& checks) const;
  // Interface, MTU, tunnels, peers.
  void FillStatus(admin::Status& status) const;

 private:
  void ReadClaims(const underlay::HostFacts& facts);
  absl::StatusOr<underlay::HostFacts> ReadHost();
  // Static routes are put back that a vSwitch took along.
  bool carries_routes() const {
    return hns_decides() ||
           (options_.data_plane == config::DataPlane::kRoutes && host_->is_windows());
  }
  std::vector<control::HostRouteSink*> route_sinks() const;
  // Once for each lease of ours, which the source has confirmed.
  void WithdrawOthersFile(const control::OwnFacts& facts);
  // Whether the chosen adapter, which is not there, is still waited for.
  bool MayReturn(const underlay::HostFacts& facts, control::TimePoint now);
  // The address of the adapter that HNS's network waits for.
  std::optional<IpAddress> AwaitedByHns() const;
  absl::Status Rebuild(const Setup& setup, const underlay::HostFacts& facts);
  // What is on link decides the way to a peer: with other addresses the sinks look again.
  void FollowUnderlay(const underlay::HostFacts& facts);
  absl::Status OpenTunnel(const TunnelConfig& config);
  void CloseTunnel(std::size_t index);
  void OpenHostRoutes(const control::HostRouteConfig& config);
  PodRules::Desired PodRulesFor(const SubnetEnv& env) const;
  // subnet.env as it is to be now.
  std::string EnvText() const;
  // Ends the sinks; the routes stay, and a later process knows them.
  void CloseHostRoutesUnless(const std::vector<control::HostRouteConfig>& wanted);
  void PutHns(const std::optional<hns::OverlayWish>& wish);
  void PutBridge(const std::optional<hns::BridgeWish>& wish);
  // Where HNS makes the adapters, there is nothing to put routes on before.
  bool BridgeStands() const { return !bridge_ || !hns_decides() || bridge_->stands(); }
  bool IsComplete() const {
    return setup_ && tunnels_.size() == setup_->tunnels.size() &&
           host_routes_.size() == setup_->host_routes.size() &&
           (hns_sink_ != nullptr) == setup_->overlay.has_value() &&
           (bridge_ != nullptr) == setup_->bridge.has_value();
  }

  const config::Options& options_;
  const control::NetConf& conf_;
  const std::unique_ptr<host::Host> host_;
  control::Reconciler& reconciler_;
  const OnBroken on_broken_;
  const Hns hns_;
  const std::shared_ptr<ledger::NodeLedger> ledger_;
  const std::shared_ptr<ledger::HnsLedger> hns_ledger_;      // null without HNS or ledger
  const std::unique_ptr<ledger::RouteLedger> route_ledger_;  // null without ledger

  std::optional<std::vector<lease::HostClaim>> claims_;
  std::optional<underlay::HostFacts> host_facts_;  // as last read; empty: to be read
  // When they are to be read again while no interface fits.
  std::optional<control::TimePoint> host_again_;
  std::string interface_;  // as chosen last; empty: not yet
  std::optional<Setup> setup_;
  std::optional<control::TimePoint> missing_since_;  // its adapter
  std::vector<std::unique_ptr<Tunnel>> tunnels_;
  struct HostRoutes {
    control::HostRouteConfig config;
    std::unique_ptr<control::HostRouteSink> sink;
  };
  std::vector<HostRoutes> host_routes_;
  std::unique_ptr<control::HnsSink> hns_sink_;
  std::unique_ptr<Bridge> bridge_;
  HostUpkeep upkeep_;
  PodRules pod_rules_;
  std::set<std::string> replaced_devices_;                 // upstream's, once each
  std::vector<host::AssignedAddress> underlay_addresses_;  // as the sinks last saw them
  SubnetFile subnet_file_;
  // Our lease as the source confirmed it last: networks and subnets alone. Whether subnet.env was
  // judged by it.
  std::optional<SubnetEnv> lease_;
  bool file_judged_ = false;
  bool was_in_sync_ = false;  // every sink was ready once, since the last rebuild
  control::Trouble own_trouble_, interface_trouble_, tunnel_trouble_, file_trouble_,
      public_ip_trouble_, link_trouble_, mtu_trouble_, hns_trouble_, ledger_trouble_;
};

}  // namespace weft::node
