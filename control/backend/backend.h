// SPDX-License-Identifier: Apache-2.0
// One way to reach peers: a tunnel, host routes, a network in HNS. A node has none, one, or several
// that are opened in order; control/node chooses them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/admin/schema.h"
#include "control/backend/node_plan.h"
#include "control/condition.h"
#include "control/config/options.h"
#include "control/host/host.h"
#include "control/ledger/node_ledger.h"
#include "control/metrics/hns_calls.h"
#include "control/net_conf.h"
#include "control/reconciler.h"
#include "control/underlay/interface_choice.h"
#include "hns/api/api.h"
#include "hns/repairs.h"

namespace weft::backend {

// What backends use. All of it outlives them.
struct Context {
  const config::Options& options;
  const control::NetConf& conf;
  host::Host& host;
  control::Reconciler& reconciler;
  // Records what is created; null: nothing is recorded.
  std::shared_ptr<ledger::NodeLedger> ledger;
  std::shared_ptr<hns::Api> hns;        // null: HNS is not programmed
  std::function<void()> on_hns_change;  // on the HNS thread: OnHnsChange is due
  // Called on a packet thread that ends by itself; `device` must then be passed to CloseDevice.
  std::function<void(const std::string& device, const absl::Status& why)> on_broken;
  // Of this process; null: HNS is not programmed.
  std::shared_ptr<metrics::HnsCalls> hns_calls{};
  std::shared_ptr<hns::Repairs> hns_repairs{};
};

// What a network in HNS decides of our IPv4 lease; empty: not known yet.
struct LeaseFacts {
  bool has_vtep_mac = false;  // an overlay's
  std::optional<MacAddress> vtep_mac;
  std::optional<IpAddress> management_ip;
  // Of kube-proxy's endpoint, once RequestSourceVip was answered; empty: it has none.
  bool source_vip_known = false;
  std::optional<IpAddress> source_vip{};
};

struct NamedCondition {
  std::string_view subject;
  const control::Condition& condition;
};

using PlanReply = std::function<void(absl::StatusOr<admin::Plan>)>;

// Control thread. A backend adds its sinks to the reconciler and removes them. Its destructor
// removes its devices; host routes and HNS stay as they are.
class Backend {
 public:
  Backend() = default;
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  // Stores the desired state for `plan`; opens and closes nothing. Error: the plan is impossible.
  virtual absl::Status Configure(const NodePlan& plan, const underlay::HostFacts& host) = 0;
  // Closes what is no longer configured, and what another program changed.
  virtual void Inspect(const underlay::HostFacts&) {}
  // Opens what is configured and missing. Error: what it waits for; called again in each round.
  virtual absl::Status Open() = 0;
  // Everything that is configured is open.
  virtual bool IsComplete() const = 0;
  // It works, so that the next backend may be opened and subnet.env written.
  virtual bool IsUp() const { return IsComplete(); }
  virtual void Close() = 0;
  // Closes what belongs to `device`, whose packet thread ended; the next Open opens it again.
  virtual void CloseDevice(const std::string& /*device*/) {}

  // What this backend decides of the lease; empty: nothing.
  virtual std::optional<LeaseFacts> lease_facts() const { return std::nullopt; }

  // The host's adapters as just read, also while no interface fits.
  virtual void OnAdapters(const std::vector<host::Adapter>&) {}
  virtual void OnHnsChange() {}
  // Reads what lease_facts() says of the source VIP.
  virtual void RequestSourceVip() {}
  // About every second.
  virtual void Poll(control::TimePoint) {}
  // Routes, links or addresses changed.
  virtual void OnRoutes() {}
  // Whether `changes` may concern our routes.
  virtual bool IsConcernedBy(const host::RouteChanges&) const { return false; }
  // Reads our routes again and restores missing ones; `all`: also where nothing was written since.
  virtual void RecheckRoutes(bool /*all*/) {}

  // What differs in HNS, read on the HNS thread; `repair`: after it was corrected. False: nothing
  // of this backend is in HNS.
  virtual bool RequestPlan(bool /*repair*/, const PlanReply&) { return false; }
  // For the check "tunnels": what carries packets while all is `up`, else what is waited for;
  // empty: another backend supplies the text.
  virtual std::string TunnelsText(bool /*up*/) const { return ""; }
  virtual void AppendChecks(std::vector<admin::Check>&) const {}
  // Conditions that fail no check.
  virtual void AppendConditions(std::vector<NamedCondition>&) const {}
  virtual void FillStatus(admin::Status&) const {}
  virtual void AddMetrics(metrics::Exposition&) const {}
};

// The peers in use, where no packet is counted; `device` carries them.
inline void AppendPeers(const Context& context, IpFamily family, const std::string& device,
                        std::vector<admin::PeerStatus>& out) {
  for (lease::Peer& peer : context.reconciler.table().Snapshot(family))
    out.push_back({.node = std::move(peer.node), .device = device});
}

inline control::Families FamiliesOf(IpFamily family) {
  return family == IpFamily::kV4 ? control::Families::kV4 : control::Families::kV6;
}

}  // namespace weft::backend
