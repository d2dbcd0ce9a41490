// SPDX-License-Identifier: Apache-2.0
// One route of this host for each peer, by the peer's own address: `S/n via PUBLIC-IP dev eth0`, as
// upstream's host-gw has (upstream v0.28.9); and, beside a tunnel, DirectRouting.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "control/host/host.h"
#include "control/lease/difference_tracker.h"
#include "control/lease/sink.h"
#include "control/sinks/on_link.h"
#include "control/sinks/route_journal.h"

namespace weft::control {

struct HostRouteConfig {
  struct Device {
    std::uint32_t adapter_index = 0;
    std::string name;
    friend bool operator==(const Device&, const Device&) = default;
  };
  IpFamily family = IpFamily::kV4;
  Device underlay;
  IpPrefix network;  // the pods': which of the marked routes are ours
  // Where peers go that the underlay does not reach without a router (DirectRouting); none: they
  // are refused.
  std::optional<Device> tunnel;
  friend bool operator==(const HostRouteConfig&, const HostRouteConfig&) = default;
};

// `host` and `journal` outlive the sink. Ours are, on whatever adapter, the marked routes by a
// gateway into the network or to a peer, and on the tunnel's device those of DeviceRoute's shape;
// all others are left alone, but for one that stands where a peer's belongs: that is replaced, as
// upstream does, so that its own routes are taken over. Each peer has one way at a time. A move
// puts the new one first and takes the old one away after; the old one stays while the new one is
// refused. What is on link is judged at Resync and Retry. The journal is told of the routes that
// stay after a process of ours: not of the tunnel's, and not of one that was there before it was
// put.
class HostRouteSink final : public lease::Sink {
 public:
  // `journal` may be null.
  HostRouteSink(host::Host& host, HostRouteConfig config, RouteJournal* journal = nullptr);

  std::string name() const override;
  lease::SinkReport Resync(std::span<const lease::Peer> all) override;
  lease::SinkReport Update(const lease::PeerChanges& changes) override;
  lease::SinkReport Retry() override;

 private:
  // A route's identity: two ways to one destination are two routes while a move lasts, and for ever
  // on a system that replaces none.
  using Way = std::tuple<IpPrefix, IpAddress, std::uint32_t>;
  struct SameRoute {
    bool operator()(const host::Route& desired, const host::Route& actual) const {
      return desired.onlink == actual.onlink && desired.marked == actual.marked;
    }
  };
  using Routes = lease::DifferenceTracker<Way, host::Route, SameRoute>;

  static Way WayOf(const host::Route& route);
  const HostRouteConfig::Device& DeviceOf(const host::Route& route) const;
  std::string Text(const host::Route& route) const;
  bool IsOurs(const host::Route& route) const;
  // The route for `peer`, or none and why.
  std::optional<host::Route> Place(const lease::Peer& peer);
  void SetPeer(const lease::Peer& peer);
  bool ReadBack();
  void PlaceAll();
  void KeepInJournal();
  void Put(const std::vector<host::Route>& wanted, std::set<IpPrefix>& refused);
  void Remove(const std::vector<host::Route>& unwanted);
  void Apply();
  lease::SinkReport ReadApplyAndVerify();
  lease::SinkReport Report() const;

  host::Host& host_;
  HostRouteConfig config_;
  RouteJournal* const journal_;
  std::map<IpPrefix, lease::Peer> peers_;
  std::map<IpPrefix, Way> ways_;             // of the peers that have one
  std::map<IpPrefix, std::string> refused_;  // of those that have none
  OnLink on_link_;
  Routes routes_;
  RouteKeys there_;  // whosever: the family's routes by a gateway
  // Why the host could not be read; while not empty nothing is known to be in place.
  std::string unread_ = "not read yet";
  std::map<Way, std::string> failures_;  // of the last attempt, as Report tells them
};

}  // namespace weft::control
