// SPDX-License-Identifier: Apache-2.0
// One route of this host for each peer: into our own tunnel device, `S/n dev flannel.N`; or by the
// peer's own address, `S/n via PUBLIC-IP dev eth0`, as upstream's host-gw has (upstream v0.28.9);
// with DirectRouting each peer by one of the two.
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

#include "absl/status/statusor.h"
#include "control/host/host.h"
#include "control/lease/difference_tracker.h"
#include "control/lease/sink.h"
#include "control/sinks/route_ledger.h"

namespace weft::control {

// As of a look at the host: the prefixes of the adapter's addresses, and of its routes that name no
// gateway.
class OnLink {
 public:
  OnLink() = default;  // nothing
  // `routes` of the host, of the family in question, as they are now. NotFound: no such adapter, or
  // it is down.
  static absl::StatusOr<OnLink> Of(std::uint32_t adapter_index,
                                   const std::vector<host::Adapter>& adapters,
                                   const std::vector<host::Route>& routes);

  bool Reaches(const IpAddress& address) const;

 private:
  std::vector<IpPrefix> prefixes_;
};

struct HostRouteConfig {
  struct Device {
    std::uint32_t adapter_index = 0;
    std::string name;
    friend bool operator==(const Device&, const Device&) = default;
  };
  IpFamily family = IpFamily::kV4;
  Device underlay;   // index 0: the adapter that has `node_address`
  IpPrefix network;  // the pods': which of the marked routes are ours
  // Where peers go that the underlay does not reach without a router (DirectRouting); none: they
  // are refused.
  std::optional<Device> tunnel;
  bool direct = true;  // peers on the underlay's link go by it; false: all through the tunnel
  IpAddress node_address{};
  std::string upstream_device{};  // upstream's kernel device
  friend bool operator==(const HostRouteConfig&, const HostRouteConfig&) = default;
};

// `host` and `ledger` outlive the sink. Ours are, into the network or to a peer, the
// routes that bear our mark, and on Windows those that the ledger owns. All others are left alone:
// one of exactly a peer's subnet blocks that peer alone, and is looked at again. But for two kinds:
// what upstream's flanneld left there is taken over, and one that came in the place of ours is
// replaced, at once the first time, then after growing pauses. Each peer has one way at a time. A
// move puts the new one first and takes the old one away after; the old one stays while the new one
// is refused. What is on link is judged at Resync and Retry. Many routes are put and removed in
// slices (SinkReport::more). The ledger receives the routes that stay after a process of ours:
// not of the tunnel's.
class HostRouteSink final : public lease::Sink {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;
  // `ledger` may be null.
  HostRouteSink(host::Host& host, HostRouteConfig config, RouteLedger* ledger = nullptr,
                std::function<TimePoint()> now = &std::chrono::steady_clock::now);

  std::string name() const override;
  lease::SinkReport Resync(std::span<const lease::Peer> all) override;
  lease::SinkReport Update(const lease::PeerChanges& changes) override;
  lease::SinkReport Retry() override;

  // Whether a Retry may find the routes otherwise.
  bool IsConcernedBy(const host::RouteChanges& changes) const;
  // Something was written since the host was read.
  bool unverified() const { return wrote_; }

 private:
  // A route's identity: two ways to one destination are two routes while a move lasts, and forever
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
  // Not ours, of a destination that matters.
  struct Other {
    host::Route route;
    std::string adapter;
  };
  using Others = std::map<IpPrefix, std::vector<Other>>;
  // Another program puts its route in the place of ours.
  struct Contest {
    int times = 0;
    Duration pause{};  // before the one after the next
    TimePoint last, next;
    std::string by;
  };
  enum class Step : std::uint8_t { kPut, kReplace, kTakeOver, kWait };

  static Way WayOf(const host::Route& route);
  host::Route RouteOf(const Way& way) const;
  bool IsTunnels(const Way& way) const;
  std::string DeviceName(std::uint32_t adapter_index) const;
  std::string Text(const Way& way) const;
  static std::string Text(const Other& other);
  std::uint64_t Precedence(const host::Route& route) const;

  // The way in which this subnet is to be reached, or null.
  const Way* DesiredWay(const IpPrefix& subnet) const;
  bool Matters(const IpPrefix& destination) const;
  bool IsOurs(const host::Route& route) const;
  // Upstream's flanneld leaves such.
  bool IsUpstreams(const host::Route& route) const;
  // Putting `way` over what stands would put it over `other`.
  bool StandsInPlaceOf(const Way& way, const host::Route& other) const;
  // It would be put over the system's own: of an address of this host, and no program's doing.
  bool IsTheLinks(const Way& way, const std::vector<Other>& others) const;

  // The way to `peer`, or none and why.
  std::optional<Way> Place(const lease::Peer& peer);
  void SetPeer(const lease::Peer& peer);
  void PlaceAll();

  bool ReadBack();
  absl::Status Read();
  void LookWhoPrecedes(const std::vector<host::Route>& found);
  void LookWhoTookPlaces(const Routes::Map& ours);
  void KeepInLedger();
  Step StepFor(const Way& way);
  // Both within `room` routes, of which they take what they touch.
  void PutSome(std::size_t& room);
  void RemoveSome(std::size_t& room);
  void Put(const std::vector<Way>& ways, bool over);
  void TakeOver(const std::vector<Way>& ways);
  // They are gone, or were never ours.
  void Disown(const RouteKeys& keys);
  void Apply();
  lease::SinkReport ReadApplyAndVerify();
  lease::SinkReport ApplyAndVerify();
  lease::SinkReport Report() const;

  host::Host& host_;
  HostRouteConfig config_;
  RouteLedger* const ledger_;
  const std::function<TimePoint()> now_;
  std::map<IpPrefix, lease::Peer> peers_;    // where they may have to be placed again
  std::map<IpPrefix, std::string> refused_;  // of those that have no way
  // As of the last reading.
  OnLink on_link_;
  std::uint32_t underlay_ = 0, upstream_ = 0;  // adapters
  RouteKeys owned_;                            // as the ledger has it
  RouteKeys there_;                            // of those, what is there
  Others others_;
  std::map<Way, std::string> preceded_;  // ours, and by what

  Routes routes_;
  std::map<IpPrefix, Contest> contests_;
  // Why the host could not be read; while not empty nothing is known to be in place.
  std::string unread_ = "not read yet";
  std::map<Way, std::string> failures_;  // of this attempt, as Report returns them
  bool more_ = false;                    // the attempt goes on at the next Retry
  bool verify_ = false;                  // the host is read at its end if something was written
  bool wrote_ = false;
};

}  // namespace weft::control
