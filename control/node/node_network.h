// SPDX-License-Identifier: Apache-2.0
// What exists on this node for its lease: the backends that reach peers, and subnet.env.
//
//   own facts + net-conf + flags + host ──► plan ──► backends ──► every sink in sync ──► subnet.env
//
// It has no timers and waits for nothing: each Apply and Settle compares everything and does what
// can be done now.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/admin/schema.h"
#include "control/backend/backend.h"
#include "control/cni/source_vip_keeper.h"
#include "control/condition.h"
#include "control/node/pod_rules.h"
#include "control/node/static_ip.h"
#include "control/node/static_routes.h"
#include "control/node/subnet_file.h"
#include "control/own_facts.h"
#include "control/reconciler.h"
#include "control/underlay/host_needs.h"
#include "control/underlay/underlay_keeper.h"

namespace weft::node {

// subnet.env for `plan`.
SubnetEnv EnvOf(const backend::NodePlan& plan, bool ip_masq);

// Control thread.
class NodeNetwork {
 public:
  // `context` outlives it. `filter`: null where a CNI plugin masquerades pods.
  explicit NodeNetwork(const backend::Context& context,
                       std::shared_ptr<host::PacketFilter> filter = nullptr);
  ~NodeNetwork();
  NodeNetwork(const NodeNetwork&) = delete;
  NodeNetwork& operator=(const NodeNetwork&) = delete;

  // Brings the backends in line with `facts`, which are of the reconciler's own node. What prevents
  // that is reported by a failing check until a later Apply.
  void Apply(const absl::StatusOr<control::OwnFacts>& facts,
             control::TimePoint now = std::chrono::steady_clock::now());
  // Reserves the source VIP. Writes subnet.env once `ready`, the reconciler's, has been true while
  // every backend was up since the plan changed, and restores it when another program changes it.
  void Settle(bool ready, control::TimePoint now = std::chrono::steady_clock::now());
  // Whether subnet.env was written by this process, and is not withdrawn.
  bool has_written_file() const { return subnet_file_.written(); }
  // Whether subnet.env, of an earlier process of this boot, names the lease of `facts`. Then the
  // check "subnet-file" is ok until the source has confirmed or changed the lease.
  bool KeepFileOf(const control::OwnFacts& facts);
  // Closes `device`; the next Apply opens it again.
  void CloseBroken(const std::string& device, const absl::Status& why);
  // The next Apply reads the host's routes again; without, it uses the last reading while their
  // adapters are the same.
  void HostChanged() { host_changed_ = true; }
  bool host_changed() const { return host_changed_; }
  // Apply is due although nothing is reported: it waits for an address or an interface.
  bool is_due(control::TimePoint now) const { return host_again_ && now >= *host_again_; }
  // Whether `changes` may concern our routes, so that RecheckRoutes is due. Calls HostChanged where
  // they concern routes that Apply uses.
  bool RoutesChanged(const host::RouteChanges& changes);
  // Reads our routes again and restores missing ones; `all`: also where nothing was written since
  // the last time.
  void RecheckRoutes(bool all);
  // Passes the state of HNS to the reconciler.
  void OnHnsChange();
  // Checks the deadlines of calls into HNS, the firewall, the ledger and the link; call about every
  // second.
  void Poll(control::TimePoint now = std::chrono::steady_clock::now());
  // Restores missing rules in the host's packet filter; call about every second.
  void PollPodRules(PodRules::Clock::time_point now) { pod_rules_.Poll(now); }
  // How HNS differs from the desired state, read on the HNS thread; `repair`: and corrects it.
  // False: nothing is in HNS yet.
  bool RequestPlan(bool repair, const backend::PlanReply& reply);
  // Removes the devices; subnet.env, host routes and what is in HNS stay. Idempotent.
  void Close();

  // What this host must reach, as of the last Apply; empty: it could not be read yet.
  const std::optional<std::vector<lease::HostClaim>>& claims() const { return claims_; }
  // Empty: not known yet.
  const std::optional<backend::NodePlan>& plan() const { return plan_; }
  // Every backend has what `plan` requires, and what it decides of the lease is known.
  bool is_up() const;
  // The VTEP MAC that a backend chose for IPv4; empty: none does, or it is not known yet.
  std::optional<MacAddress> vtep_mac() const;
  // The address that peers send to: a configured one, else the interface's, or HNS's management IP
  // where HNS has bound another adapter. Empty: not known yet.
  std::optional<IpAddress> public_ip(IpFamily family) const;
  // "interface", "tunnels", "hns" where HNS moves the packets, "sinks", "subnet-file".
  void AppendChecks(const control::ReconcilerReport& report,
                    std::vector<admin::Check>& checks) const;
  // Several may have one subject. Those of pod rules and of backends fail no check.
  void AppendConditions(std::vector<backend::NamedCondition>& out) const;
  // Interface, MTU, tunnels, peers.
  void FillStatus(admin::Status& status) const;
  void AddMetrics(metrics::Exposition& exposition) const;

 private:
  void ReadClaims(const underlay::HostFacts& facts, std::uint32_t underlay_index);
  absl::StatusOr<underlay::HostFacts> ReadHost();
  // Removes subnet.env if it was written for another lease; compares once for each lease that the
  // source has confirmed.
  void WithdrawForeignFile(const control::OwnFacts& facts);
  // Removes subnet.env once another Node has had its subnet for a while during which ours had none:
  // new pods would get addresses that the cluster routes elsewhere.
  void WithdrawTakenFile(bool has_lease, control::TimePoint now);
  SubnetEnv LeaseOf(const control::OwnFacts& facts) const;
  void ReportMove(const underlay::InterfaceChoice& next);
  void ReportLink(control::TimePoint now);
  absl::Status Build(const backend::NodePlan& plan, const underlay::HostFacts& facts);
  bool IsComplete() const;
  std::optional<backend::LeaseFacts> lease_facts() const;
  PodRules::Desired PodRulesFor(const backend::NodePlan& plan) const;
  // Reserves the source VIP, where kube-proxy needs one.
  void KeepSourceVip(control::TimePoint now);
  // The desired content of subnet.env.
  SubnetEnv Env() const;

  const backend::Context& context_;
  const std::vector<std::unique_ptr<backend::Backend>> backends_;
  // Static routes that a virtual switch took over are restored.
  const bool carries_routes_;

  std::optional<std::vector<lease::HostClaim>> claims_;
  std::vector<IpAddress> name_servers_;  // as last read
  underlay::HostFacts host_facts_;       // as last read
  bool host_changed_ = true;             // they are to be read again
  // When they are to be read again while no interface fits.
  std::optional<control::TimePoint> host_again_;
  std::string interface_;  // as chosen last; empty: not yet
  std::optional<backend::NodePlan> plan_;
  underlay::UnderlayKeeper underlay_;
  std::uint64_t moves_ = 0;  // of the underlay
  // Why the underlay of the plan carries no packets, a lost address or link, and since when; empty:
  // it does.
  std::string no_link_;
  std::optional<control::TimePoint> no_link_since_;
  StaticRoutes static_routes_;
  StaticIpKeeper static_ip_;
  PodRules pod_rules_;
  SubnetFile subnet_file_;
  cni::SourceVipKeeper source_vip_;
  // Our lease as the source confirmed it last: networks and subnets only; and whether subnet.env
  // was compared with it.
  std::optional<SubnetEnv> lease_;
  bool file_judged_ = false;
  std::optional<SubnetEnv> kept_file_;             // the lease that KeepFileOf found in it
  std::vector<IpPrefix> left_subnets_;             // of subnet.env while our Node has none
  std::optional<control::TimePoint> taken_since_;  // another Node has one of them
  bool withheld_ = false;                          // subnet.env was removed because of that
  bool was_in_sync_ = false;   // every sink was ready once, since the plan changed
  bool was_recalled_ = false;  // the last Settle was of recalled leases
  control::Condition own_condition_, interface_condition_, backend_condition_, file_condition_,
      taken_condition_, public_ip_condition_, link_condition_, mtu_condition_, ledger_condition_;
  control::Condition name_servers_note_;  // only logged: nothing depends on it
};

}  // namespace weft::node
