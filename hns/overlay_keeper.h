// SPDX-License-Identifier: Apache-2.0
// Keeps this node's overlay network in HNS right: network, HostRoute, a RemoteSubnetRoute for each
// peer. Finds what others broke, repairs it, and says what it waits for. Holds no thread and no
// timer: it is called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hns/adapter_doubt.h"
#include "hns/client.h"
#include "hns/former_network.h"
#include "hns/journal.h"
#include "hns/overlay_look.h"
#include "hns/overlay_plan.h"
#include "hns/retry_delay.h"
#include "hns/route_plan.h"
#include "hns/route_writer.h"

namespace weft::hns {

// What is worked at or waited for, in order.
enum class OverlayState : std::uint8_t {
  kHns,           // HNS answers
  kNetwork,       // the network stands
  kManagementIp,  // HNS has given it a management IP and a router MAC
  kRoutes,        // every peer has its route, read back
  kHolds,
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

// One thread at a time. `api` outlives it. Its end changes nothing in HNS. May be
// thrown away at any moment and made anew: all it needs to know it reads from HNS.
class OverlayKeeper {
 public:
  // `clock`: what the time is after a call.
  OverlayKeeper(Api& api, OverlayWish wish, std::shared_ptr<Journal> journal = nullptr,
                RouteWriter::Clock clock = std::chrono::steady_clock::now);

  void SetWish(const OverlayWish& wish);
  // Networks under other names that an earlier process of ours made (former_network.h). Those of
  // earlier wishes of this keeper, and those in the journal, it knows by itself.
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
  absl::StatusOr<Drift> Look();
  // Does what can be done now, in a bounded number of calls.
  OverlayOutcome Round(TimePoint now);

 private:
  struct Wait {
    OverlayState state = OverlayState::kHolds;
    std::string sentence;
    std::optional<Duration> again;
    bool failure = false;
  };
  using MaybeWait = std::optional<Wait>;  // empty: go on

  Wait Work(TimePoint now);
  MaybeWait FindNetwork(TimePoint now);
  absl::StatusOr<std::vector<Network>> Networks();
  void LookAtOthers(std::span<const Network> networks, TimePoint now);
  MaybeWait AwaitPods(const NetworkPlan& plan, std::span<const Endpoint> endpoints, TimePoint now);
  std::string BaseTrouble(std::span<const Network> networks);
  bool WasMade();
  absl::StatusOr<OpenedNetwork> MakeNetwork(const Network& document);
  absl::StatusOr<OpenedNetwork> MakeByAnyWay(const NetworkPlan& plan);
  void EnterStanding(const Network& network);
  MaybeWait PutBase(const NetworkPlan& plan, std::span<const Network> networks, TimePoint now);
  MaybeWait Adopt(const Network& network);
  MaybeWait Replace(const NetworkPlan& plan);
  MaybeWait Create(const NetworkPlan& plan);
  MaybeWait ReadNetwork();
  MaybeWait AwaitManagementIp(TimePoint now);
  MaybeWait AwaitAdapter(TimePoint now);
  MaybeWait PutHostRoute(TimePoint now);
  Wait WriteRoutes(TimePoint now);
  void PlanAgain(TimePoint now);
  void WatchAddress(TimePoint now);
  void RoutesChanged();
  Wait Failed(OverlayState state, const absl::Status& status, std::string_view hint = "");
  void TurnFormer(const std::string& name);
  absl::Status LookAtFormers(Drift& drift);
  absl::Status Delete(const FormerNetwork& former, const FormerLook& look);
  MaybeWait RemoveFormer();
  MaybeWait MakeRoom(const absl::Status& refusal);
  void ForgetNetwork();
  std::vector<std::string> Notes() const;

  const std::shared_ptr<Journal> journal_;
  Client client_;
  OverlayWish wish_;
  RemoteSubnetRoutes wanted_;
  bool wanted_known_ = false;
  bool may_remove_ = false;

  std::optional<Version> version_;
  std::optional<OpenedNetwork> network_;
  std::optional<Network> reading_;  // of network_, the last one
  bool looked_ = false;             // for the network, since trust was lost
  bool list_all_ = false;           // a create said that the name is taken
  bool listed_all_ = false;         // and not only the networks of our name, the last time
  bool stale_ = true;               // reading_ is: the network was changed, or may have been
  bool written_ = false;            // routes were, since reading_
  bool planned_ = false;            // routes were, from reading_ and wanted_
  std::string unlisted_;            // why not all networks could be listed the last time
  std::size_t standing_ = 0;
  const RouteWriter::Clock clock_;
  RouteWriter writer_{clock_};

  // After failures: the first time at once, because a dead handle is mended by looking again.
  bool failed_ = false;
  RetryDelay delay_{std::chrono::milliseconds(500), std::chrono::seconds(10)};
  std::optional<TimePoint> without_ip_since_;
  std::optional<bool> adapter_there_;  // of the network that stands; empty: never given
  std::optional<TimePoint> without_adapter_since_;
  bool adapter_given_up_ = false;
  // HNS sends from another address than the wish's, which may have changed just now: nobody tells
  // when it follows.
  std::optional<TimePoint> address_again_;
  RetryDelay address_delay_{std::chrono::seconds(1), std::chrono::seconds(60)};
  std::optional<Guid> base_id_;
  std::size_t adapter_way_ = 0;  // of AdapterWays: the last one that was tried
  AdapterDoubt doubt_;
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
  std::optional<Guid> made_;       // the network of wish_'s name that this keeper created
  std::string made_shape_;         // in which it created the last one
  std::optional<TimePoint>
      pods_since_;  // of another PodCIDR, in the network that is to be replaced
  // The journal's others that HNS does not list: after a reboot it lists them late.
  std::map<std::string, TimePoint> missing_since_;
  std::vector<FormerNetwork> former_;
  bool former_looked_ = false;  // at them, since the last Recheck
  std::vector<std::string> former_notes_;
};

}  // namespace weft::hns
