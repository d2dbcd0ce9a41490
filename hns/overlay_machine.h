// SPDX-License-Identifier: Apache-2.0
// Keeps this node's overlay network in HNS right: network, HostRoute, a RemoteSubnetRoute for each
// peer. Finds what others broke, repairs it, and says what it waits for. Decides which call comes
// next and makes none (sequence.h); holds no thread and no timer.
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
#include "hns/former_network.h"
#include "hns/keeper_parts.h"
#include "hns/object_ledger.h"
#include "hns/overlay_drift.h"
#include "hns/overlay_plan.h"
#include "hns/retry_delay.h"
#include "hns/route_plan.h"
#include "hns/route_writer.h"
#include "hns/sequence.h"

namespace weft::hns {

// What is worked at or waited for, in order.
enum class OverlayState : std::uint8_t {
  kHns,           // HNS answers
  kNetwork,       // the network stands
  kManagementIp,  // HNS has given it a management IP and a router MAC
  kRoutes,        // every peer has its route, read back
  kInSync,
};

struct OverlayOutcome {
  OverlayState state = OverlayState::kHns;
  std::string sentence;  // for `status`: what is waited for and why, or that all holds

  // As read last; empty while the network is not there. After HNS went they are what was.
  std::optional<Guid> network_id;
  std::optional<IpAddress> management_ip;
  std::optional<MacAddress> dr_mac;
  bool made = false;                    // this keeper created that network
  std::optional<Guid> base_network_id;  // of a base network that this keeper created
  std::vector<FormerNetwork> former;    // still stand, as far as is known

  std::size_t desired = 0;           // routes
  std::size_t applied = 0;           // of those, read back; 0 while nothing can be read
  std::vector<std::string> pending;  // HNS refused it; tried again
  // Of `pending`: routes, and removals, that were tried alone.
  std::size_t refused = 0, refused_removals = 0;
  std::vector<std::string> notes;  // worth knowing, and no reason to wait
  bool awaits_adapter = false;     // SetAdapterThere, with management_ip; for a while
  // When Round is to be called at the latest. Empty: when something changes, or for a Recheck.
  std::optional<TimePoint> next;
};

// One thread at a time. Its end changes nothing in HNS. May be thrown away at any moment and made
// again: all it needs to know it reads from HNS.
class OverlayMachine {
 public:
  // `clock`: what the time is after a call.
  explicit OverlayMachine(OverlaySpec spec, std::shared_ptr<ObjectLedger> ledger = nullptr,
                          RouteWriter::Clock clock = std::chrono::steady_clock::now);

  void SetSpec(const OverlaySpec& spec);
  // Networks under other names that an earlier process of ours made (former_network.h). Those of
  // earlier specs of this keeper, and those in the ledger, it knows by itself.
  void SetFormer(std::vector<FormerNetwork> made);
  // All peers that are known. `may_remove`: they are all there are (see PlanRoutes); it stays so.
  void SetRoutes(RemoteSubnetRoutes routes, bool may_remove);
  void PutRoute(const RemoteSubnetRoute& route);
  void EraseRoute(const IpPrefix& destination);

  // Whether the host has an adapter with the management IP: while a switch is made HNS may say it
  // before. HostRoute waits for that, as upstream does; not in a keeper that was never given it.
  void SetAdapterThere(bool there);

  // HNS stopped or restarts: everything is read again before anything is changed.
  void OnServiceGone();
  // Something may have changed: everything is looked at by the next Round.
  void Recheck();

  // What HNS lacks now. Makes no modifying call.
  Sequence<absl::StatusOr<Drift>> Inspect();
  // Does what can be done now, in a bounded number of calls. One sequence at a time, run to its end
  // before anything else of this object is called.
  Sequence<OverlayOutcome> Round(TimePoint now);

 private:
  using Wait = hns::Wait<OverlayState>;
  using MaybeWait = std::optional<Wait>;  // empty: go on
  // How much of the network in HNS is known, in order.
  enum class Known : std::uint8_t {
    kNothing,  // it has to be looked for
    kNetwork,  // it is open; what is in it was changed, or may have been
    kReading,  // reading_ is what is in it
    kPlan,     // writer_ has what it lacks
  };
  struct Listing {
    std::vector<Network> networks;
    bool all = false;      // not only those of our name
    std::string unlisted;  // why not all, where they are needed
  };

  Sequence<Wait> Work(TimePoint now);
  Sequence<MaybeWait> FindNetwork(TimePoint now);
  Sequence<absl::StatusOr<Listing>> List();
  Sequence<Nothing> InspectOthers(const Listing& listing, TimePoint now);
  MaybeWait AwaitPods(const NetworkPlan& plan, std::span<const Endpoint> endpoints, TimePoint now);
  Sequence<std::string> BaseCondition(const Listing& listing);
  bool WasMade();
  Sequence<absl::Status> MakeNetwork(Network document);
  void EnterStanding(const Network& network);
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
  void RoutesChanged();
  Sequence<Wait> Failed(OverlayState state, absl::Status status, std::string hint = "");
  void TurnFormer(const std::string& name);
  Sequence<absl::Status> InspectFormers(Drift& drift);
  Sequence<MaybeWait> RemoveFormers();
  Sequence<MaybeWait> MakeRoom(const absl::Status& refusal);
  Wait Refused(std::string reason);
  // The network is looked for again.
  void Forget();
  void KnowAtMost(Known known) { known_ = std::min(known_, known); }
  std::vector<std::string> Notes() const;

  const std::shared_ptr<ObjectLedger> ledger_;
  OverlaySpec spec_;
  RemoteSubnetRoutes desired_;
  bool desired_known_ = false;
  bool may_remove_ = false;

  std::optional<Version> version_;
  Known known_ = Known::kNothing;
  bool open_ = false;               // the network of reading_, or one that was just created
  std::optional<Network> reading_;  // the last one
  bool written_ = false;            // something was, since reading_
  bool list_all_ = false;           // a create said that the name is taken
  std::size_t standing_ = 0;
  const RouteWriter::Clock clock_;
  RouteWriter writer_;

  FailureDelay failures_;
  std::optional<TimePoint> without_ip_since_;
  std::optional<bool> adapter_there_;  // of the network that stands; empty: never given
  std::optional<TimePoint> without_adapter_since_;
  bool adapter_given_up_ = false;
  // HNS sends from another address than the spec's, which may have changed just now: nobody tells
  // when it follows.
  std::optional<TimePoint> address_again_;
  RetryDelay address_delay_{std::chrono::seconds(1), std::chrono::seconds(60)};
  std::optional<Guid> base_id_;
  AdapterChoice adapter_;
  // Each is tried again at its time; a note while it is not done.
  struct Extra {
    std::string note;
    std::optional<TimePoint> again;
    RetryDelay delay{std::chrono::seconds(1), std::chrono::minutes(5)};
  };
  Extra base_, host_route_;
  std::optional<Guid> not_there_;  // the network of which HNS said so when HostRoute was added
  std::string replaced_;           // why the network was re-created
  std::string assumed_;            // of the network that was found
  bool creating_ = false;          // a create succeeded whose network has not been read yet
  std::optional<Guid> made_;       // the network of spec_'s name that this keeper created
  std::string made_shape_;         // in which it created the last one
  std::optional<TimePoint>
      pods_since_;  // of another PodCIDR, in the network that is to be replaced
  // The ledger's others that HNS does not list: after a reboot it lists them late.
  std::map<std::string, TimePoint> missing_since_;
  std::vector<FormerNetwork> former_;
  bool former_inspected_ = false;  // at them, since the last Recheck
  std::vector<std::string> former_notes_;
};

using OverlayKeeper = Driven<OverlayMachine>;

}  // namespace weft::hns
