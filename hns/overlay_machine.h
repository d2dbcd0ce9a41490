// SPDX-License-Identifier: Apache-2.0
// Keeps this node's overlay network in HNS in sync: network, HostRoute, a RemoteSubnetRoute for
// each peer. Repairs foreign changes and reports what it waits for. Decides which call comes next
// and makes none (sequence.h); has no thread and no timer.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hns/desired_routes.h"
#include "hns/former_network.h"
#include "hns/keeper_parts.h"
#include "hns/object_ledger.h"
#include "hns/overlay_drift.h"
#include "hns/overlay_plan.h"
#include "hns/repairs.h"
#include "hns/retry_delay.h"
#include "hns/route_plan.h"
#include "hns/route_writer.h"
#include "hns/sequence.h"

namespace weft::hns {

// What the machine works at or waits for, in order.
enum class OverlayState : std::uint8_t {
  kHns,           // HNS does not answer
  kNetwork,       // the network is missing or differs
  kManagementIp,  // the network has no management IP or no router MAC yet
  kRoutes,        // some peers' routes are missing, or not read back
  kInSync,
};

struct OverlayOutcome {
  OverlayState state = OverlayState::kHns;
  std::string sentence;  // for `status`: what the machine waits for and why, or that all is in sync

  // As read last, also while HNS does not answer; empty while the network does not exist.
  std::optional<Guid> network_id;
  std::optional<IpAddress> management_ip;
  std::optional<MacAddress> dr_mac;
  bool made = false;                    // this machine created that network
  std::optional<Guid> base_network_id;  // of a base network that this machine created
  std::vector<FormerNetwork> former;    // still exist, as far as is known

  std::size_t desired = 0;           // routes
  std::size_t applied = 0;           // desired routes that were read back; 0 until they are
  std::vector<std::string> pending;  // refused or held back, to be retried
  // Of `pending`: additions and removals that HNS refused alone.
  std::size_t refused = 0, refused_removals = 0;
  std::vector<std::string> notes;  // for `status`; no reason to wait
  bool awaits_adapter = false;     // waits a while for SetAdapterPresent with management_ip
  bool source_vip_known = false;   // by ReadSourceVip, or because the network is new
  std::optional<IpAddress> source_vip;
  // When to call Round at the latest. Empty: when something changes, or for a Recheck.
  std::optional<TimePoint> next;
};

// One thread at a time. May be destroyed and created again at any moment: destruction changes
// nothing in HNS, and a new one reads its state from there.
class OverlayMachine {
 public:
  // `clock` is read after calls. `routes`: shared with whoever changes them; null: its own.
  explicit OverlayMachine(OverlaySpec spec, std::shared_ptr<ObjectLedger> ledger = nullptr,
                          RouteWriter::Clock clock = std::chrono::steady_clock::now,
                          std::shared_ptr<DesiredRoutes> routes = nullptr);

  void SetSpec(const OverlaySpec& spec);
  // Networks under other names that an earlier process of ours created (former_network.h), besides
  // those of this machine's earlier specs and those in the ledger.
  void SetFormer(std::vector<FormerNetwork> made);
  DesiredRoutes& routes() { return *routes_; }
  // After a change of routes(): the next Round compares them with HNS again.
  void RoutesChanged();

  // Whether the host has an adapter with the management IP: while HNS creates a switch it may
  // report that IP earlier. HostRoute waits for the adapter, as upstream does, unless this is never
  // called.
  void SetAdapterPresent(bool present);
  // Counts repairs there, from now on.
  void SetRepairs(std::shared_ptr<Repairs> repairs) { repairs_ = std::move(repairs); }

  // HNS stopped or restarts: the next Round reads everything again before it changes anything.
  void OnServiceGone();
  // The same, and what waits for its next try is tried now.
  void RetryNow() {
    OnServiceGone();
    recreation_.RetryNow();
  }
  // Something may have changed: the next Round reads everything again.
  void Recheck();

  // What HNS lacks now. Makes no modifying call.
  Sequence<absl::StatusOr<Drift>> Inspect();
  // Finds the address of kube-proxy's endpoint in the network, for the next outcome.
  Sequence<Nothing> ReadSourceVip();
  // Does what can be done now, in a bounded number of calls. Run one sequence at a time, and to its
  // end before any other member is called.
  Sequence<OverlayOutcome> Round(TimePoint now);

 private:
  using Wait = hns::Wait<OverlayState>;
  using MaybeWait = std::optional<Wait>;  // empty: continue
  // How much of the network in HNS is known, in order.
  enum class Known : std::uint8_t {
    kNothing,  // the network is to be found
    kNetwork,  // it is open; its policies are to be read
    kReading,  // reading_ is current
    kPlan,     // writer_ has the changes
  };
  struct Listing {
    std::vector<Network> networks;
    bool all = false;      // else only those of our name
    std::string unlisted;  // why not all, although they are needed
  };

  Sequence<Wait> Work(TimePoint now);
  Sequence<MaybeWait> FindNetwork(TimePoint now);
  Sequence<absl::StatusOr<Listing>> List();
  Sequence<Nothing> InspectLedger(const Listing& listing, TimePoint now);
  MaybeWait AwaitPods(const NetworkPlan& plan, std::span<const Endpoint> endpoints, TimePoint now);
  Sequence<std::string> BaseCondition(const Listing& listing);
  bool WasMade();
  Sequence<absl::Status> MakeNetwork(Network document);
  void ConfirmInLedger(const Network& network);
  Sequence<MaybeWait> PutBase(const NetworkPlan& plan, const Listing& listing, TimePoint now);
  Sequence<MaybeWait> Adopt(const Network& network);
  Sequence<MaybeWait> Replace(const NetworkPlan& plan);
  Sequence<MaybeWait> Create(const NetworkPlan& plan);
  Sequence<MaybeWait> Read();
  MaybeWait AwaitManagementIp(TimePoint now);
  MaybeWait AwaitAdapter(TimePoint now);
  Sequence<MaybeWait> PutHostRoute(TimePoint now);
  Sequence<Wait> WriteRoutes(TimePoint now);
  void Plan(TimePoint now);
  void WatchAddress(TimePoint now);
  Sequence<Wait> Failed(OverlayState state, absl::Status status, std::string hint = "");
  void MoveToFormer(const std::string& name);
  Sequence<absl::Status> InspectFormers(Drift& drift);
  Sequence<MaybeWait> RemoveFormers();
  Sequence<MaybeWait> MakeRoom(const absl::Status& refusal);
  Wait Refused(std::string reason);
  // The next Round finds the network again.
  void Forget();
  void KnowAtMost(Known known) { known_ = std::min(known_, known); }
  std::vector<std::string> Notes() const;

  const std::shared_ptr<ObjectLedger> ledger_;
  std::shared_ptr<Repairs> repairs_ = std::make_shared<Repairs>();
  // What the network had as desired, and what of it was lost.
  struct Synced {
    // The desired routes (DesiredRoutes::Content::version) that were in sync with HNS last; empty:
    // what differs now was not in sync before, or is in lost_routes.
    std::optional<std::uint64_t> version;
    std::vector<IpPrefix> lost_routes;  // still desired: a repair once all are in sync again
    Loss host_route;
  };
  Synced synced_;
  std::uint64_t planned_version_ = 0;
  Recreation recreation_;
  OverlaySpec spec_;
  const std::shared_ptr<DesiredRoutes> routes_;

  std::optional<Version> version_;
  Known known_ = Known::kNothing;
  bool open_ = false;               // the network of reading_, or one that was just created
  std::optional<Network> reading_;  // as read last
  bool written_ = false;            // there was a write since reading_
  bool list_all_ = false;           // a create failed because the name is taken
  std::size_t desired_ = 0;         // routes, when they were compared with reading_
  std::size_t in_sync_ = 0;         // of those, the ones that reading_ has
  const RouteWriter::Clock clock_;
  RouteWriter writer_;

  FailureDelay failures_;
  std::optional<TimePoint> without_ip_since_;
  std::optional<bool> adapter_present_;  // of the existing network; empty: never set
  std::optional<TimePoint> without_adapter_since_;
  bool adapter_given_up_ = false;
  // Next read while HNS sends from another address than the spec's: after a change HNS follows
  // without a notification.
  std::optional<TimePoint> address_again_;
  RetryDelay address_delay_{std::chrono::seconds(1), std::chrono::seconds(60)};
  std::optional<Guid> base_id_;
  AdapterChoice adapter_;
  // An optional object: retried at `again`; `note` is set while it is missing.
  struct Extra {
    std::string note;
    std::optional<TimePoint> again;
    RetryDelay delay{std::chrono::seconds(1), std::chrono::minutes(5)};
  };
  Extra base_, host_route_;
  std::optional<Guid> not_found_;  // network for which adding HostRoute returned "not found"
  std::string replaced_;           // why the network was re-created
  std::string assumed_;            // Assumed() of the network that was found
  bool source_vip_known_ = false;
  std::optional<IpAddress> source_vip_;
  bool creating_ = false;     // a create succeeded; its network has not been read yet
  std::optional<Guid> made_;  // the network of spec_'s name that this machine created
  std::string made_shape_;    // of the network that it created last
  // Since when the network to be replaced has pods of another PodCIDR.
  std::optional<TimePoint> pods_since_;
  // Other networks of the ledger that HNS does not list: after a reboot it lists them late.
  std::map<std::string, TimePoint> missing_since_;
  std::vector<FormerNetwork> former_;
  bool former_inspected_ = false;  // since the last Recheck
  std::vector<std::string> former_notes_;
};

using OverlayKeeper = Driven<OverlayMachine>;

}  // namespace weft::hns
