// SPDX-License-Identifier: Apache-2.0
// One host route for each peer: into our own tunnel device, `S/n dev flannel.N`; or via the peer's
// own address, `S/n via PUBLIC-IP dev eth0`, as upstream's host-gw has (upstream v0.28.9). With
// DirectRouting each peer has one of the two.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "control/host/host.h"
#include "control/lease/difference_tracker.h"
#include "control/lease/sink.h"
#include "control/sinks/route_ledger.h"

namespace weft::control {

// The on-link prefixes of an adapter at the time of reading: those of its addresses, and of its
// routes without a gateway.
class OnLink {
 public:
  OnLink() = default;  // nothing
  // `routes`: the host's current ones of the family. NotFound: the adapter does not exist or is
  // down.
  static absl::StatusOr<OnLink> Of(std::uint32_t adapter_index,
                                   const std::vector<host::Adapter>& adapters,
                                   const std::vector<host::Route>& routes);

  // Where `route` leads elsewhere, its destination is not on link: the longest prefix counts. What
  // the system derives from another adapter's address does not: two prefixes may overlap by
  // mistake.
  void Exclude(const host::Route& route);
  // Whether a route to `destination` may matter to Exclude.
  bool Covers(const IpPrefix& destination) const;
  bool Reaches(const IpAddress& address) const;

 private:
  std::uint32_t adapter_index_ = 0;
  std::vector<IpPrefix> prefixes_;
  std::set<IpPrefix> elsewhere_;
};

struct HostRouteConfig {
  struct Device {
    std::uint32_t adapter_index = 0;
    std::string name;
    friend bool operator==(const Device&, const Device&) = default;
  };
  IpFamily family = IpFamily::kV4;
  Device underlay;   // index 0: the adapter that has `node_address`
  IpPrefix network;  // the pod network
  // For peers that the underlay reaches only through a router (DirectRouting); none: such peers are
  // refused.
  std::optional<Device> tunnel;
  bool direct = true;  // peers on the underlay's link are reached directly; false: all by tunnel
  IpAddress node_address{};
  std::string upstream_device{};  // name of upstream's kernel device
  friend bool operator==(const HostRouteConfig&, const HostRouteConfig&) = default;
};

// `host` and `ledger` outlive the sink. Our routes bear our mark and, on Windows, are owned by the
// ledger, wherever they lead: the network may have been another one. Foreign routes are kept: one
// with exactly a peer's subnet blocks that peer only, and is read again at each Retry. There are
// two exceptions: routes such as upstream's flanneld leaves are taken over, and a route that
// another program put in the place of ours is replaced, at once the first time, then after growing
// pauses. Each peer has one way at a time. A move puts the new route first and removes the old one
// after; the old one stays while the new one is refused. Resync and Retry judge what is on link;
// where there is a tunnel instead, by the longest prefix, as upstream's DirectRouting does. Many
// routes are put and removed in slices (SinkReport::more). The ledger receives the routes that
// outlive the process: not those into the tunnel.
class HostRouteSink final : public lease::Sink {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;
  // The peer that has a subnet, of which a sink without direct routes keeps no copy.
  using PeerAt = std::function<lease::Peer(const IpPrefix& subnet)>;
  // `ledger` may be null.
  HostRouteSink(
      host::Host& host, HostRouteConfig config, RouteLedger* ledger = nullptr,
      std::function<TimePoint()> now = &std::chrono::steady_clock::now,
      PeerAt peer_at = [](const IpPrefix&) { return lease::Peer(); });

  std::string name() const override;
  std::string_view kind() const override { return "host-routes"; }
  lease::SinkReport Resync(std::span<const lease::Peer> all) override;
  lease::SinkReport Update(const lease::PeerChanges& changes) override;
  lease::SinkReport Retry() override;

  // Whether a Retry may find different routes.
  bool IsConcernedBy(const host::RouteChanges& changes) const;
  // Routes were written since the host was read.
  bool unverified() const { return wrote_; }

 private:
  // A route's identity. Two ways to one destination are two routes during a move, and permanently
  // on a system that replaces none.
  using Way = std::tuple<IpPrefix, std::optional<IpAddress>, std::uint32_t>;
  struct Form {
    bool onlink = false, marked = true;
  };
  struct SameForm {
    bool operator()(const Form& desired, const Form& actual) const {
      return desired.onlink == actual.onlink && desired.marked == actual.marked;
    }
  };
  using Routes = lease::DifferenceTracker<Way, Form, SameForm>;
  // A foreign route whose destination matters.
  struct ForeignRoute {
    host::Route route;
    std::string adapter;
  };
  using ForeignRoutes = std::map<IpPrefix, std::vector<ForeignRoute>>;
  // Another program replaces our route with its own.
  struct Contest {
    int times = 0;
    Duration pause{};  // between `next` and the replacement after it
    TimePoint last, next;
    std::string by;
  };
  enum class Step : std::uint8_t { kPut, kReplace, kTakeOver, kWait };

  static Way WayOf(const host::Route& route);
  host::Route RouteOf(const Way& way) const;
  bool IsIntoTunnel(const Way& way) const;
  std::string DeviceName(std::uint32_t adapter_index) const;
  std::string Text(const Way& way) const;
  static std::string Text(const ForeignRoute& other);
  std::uint64_t Precedence(const host::Route& route) const;

  // Peers are reached directly or by the tunnel (DirectRouting).
  bool chooses() const { return config_.direct && config_.tunnel; }
  lease::Peer PeerOf(const IpPrefix& subnet) const;
  // The desired way to `subnet`, or null.
  const Way* DesiredWay(const IpPrefix& subnet) const;
  bool Matters(const IpPrefix& destination) const;
  bool IsOurs(const host::Route& route) const;
  // Such as upstream's flanneld leaves: into its device, or to the peer's own address.
  bool IsUpstreamRoute(const host::Route& route) const;
  // Replacing with `way` would replace `other`.
  bool WouldReplace(const Way& way, const host::Route& other) const;
  // Replacing with `way` would replace a route that the system derived from an address of this
  // host.
  bool WouldReplaceDerived(const Way& way, const std::vector<ForeignRoute>& foreign) const;

  // The way to `peer`; if there is none, the reason is in refused_.
  std::optional<Way> Place(const lease::Peer& peer);
  void SetPeer(const lease::Peer& peer);
  void PlaceAll();

  bool ReadBack();
  absl::Status Read();
  void FindPreceding(const std::vector<host::Route>& found);
  void FindContests(const Routes::Map& ours);
  void SyncLedger();
  Step StepFor(const Way& way);
  // Both process at most `room` routes, and subtract those that they processed.
  void PutSome(std::size_t& room);
  void RemoveSome(std::size_t& room);
  void Put(const std::vector<Way>& ways, bool over);
  void TakeOver(const std::vector<Way>& ways);
  // The routes do not exist any more, or are not ours.
  void Disown(const RouteKeys& keys);
  void Apply();
  lease::SinkReport ReadApplyAndVerify();
  lease::SinkReport ApplyAndVerify();
  lease::SinkReport Report();

  host::Host& host_;
  HostRouteConfig config_;
  RouteLedger* const ledger_;
  const std::function<TimePoint()> now_;
  const PeerAt peer_at_;
  absl::btree_map<IpPrefix, lease::Peer> peers_;  // empty unless routes are direct
  std::map<IpPrefix, std::string> refused_;       // the reasons of peers that have no way
  // As of the last reading.
  OnLink on_link_;
  std::uint32_t underlay_ = 0, upstream_ = 0;  // adapters
  RouteKeys owned_;                            // as in the ledger
  RouteKeys existing_owned_;                   // of the existing routes that are ours
  std::map<IpPrefix, std::string> left_;  // foreign routes in the place of ours that are disowned
  ForeignRoutes foreign_;
  std::map<Way, std::string> preceded_;  // our routes, and the foreign route before each

  Routes routes_;
  std::map<IpPrefix, Contest> contests_;
  // Why the host could not be read; while not empty, no route is known to exist.
  std::string read_error_ = "not read yet";
  std::map<Way, std::string> failures_;  // of the current attempt, as Report returns them
  bool more_ = false;                    // the next Retry continues the attempt
  bool verify_ = false;  // read the host at the end of the attempt if something was written
  bool wrote_ = false;
  std::set<Way> lost_;  // were in place, are not, and are to be put back
  // Since the last report.
  std::size_t restored_ = 0;
  std::string restored_one_;
};

}  // namespace weft::control
