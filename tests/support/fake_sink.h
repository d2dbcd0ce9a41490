// SPDX-License-Identifier: Apache-2.0
// A sink that programs a map: it has peers, refuses entries on request, and counts its changes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "control/lease/difference_tracker.h"
#include "control/lease/sink.h"

namespace weft::testing {

class FakeSink final : public lease::Sink {
  using Tracker = lease::DifferenceTracker<IpPrefix, lease::Peer>;

 public:
  explicit FakeSink(std::string name = "fake") : name_(std::move(name)) {}

  std::string name() const override { return name_; }
  lease::SinkReport Resync(std::span<const lease::Peer> all) override {
    ++resyncs;
    Tracker::Map desired;
    for (const lease::Peer& peer : all) desired.insert_or_assign(peer.subnet, peer);
    tracker_.ReplaceDesired(std::move(desired));
    tracker_.ReplaceActual({entries.begin(), entries.end()});
    return Apply();
  }
  lease::SinkReport Update(const lease::PeerChanges& changes) override {
    ++updates;
    for (const lease::Peer& peer : changes.upserts) tracker_.SetDesired(peer.subnet, peer);
    for (const IpPrefix& subnet : changes.removals) tracker_.EraseDesired(subnet);
    return Apply();
  }
  lease::SinkReport Retry() override {
    ++retries;
    return Apply();
  }

  std::map<IpPrefix, lease::Peer> entries;  // the programmed entries; the test may change them
  std::set<IpPrefix> failing;               // subnets that cannot be changed now
  bool settled = true;                      // false: as a sink that works on another thread
  int touched = 0;                          // entries of `world` put or removed
  int resyncs = 0;
  int updates = 0;
  int retries = 0;

 private:
  lease::SinkReport Apply() {
    const auto upserts = tracker_.pending_upserts();
    const auto removals = tracker_.pending_removals();
    for (const IpPrefix& subnet : upserts) {
      if (failing.contains(subnet)) continue;
      ++touched;
      entries.insert_or_assign(subnet, tracker_.desired().at(subnet));
      tracker_.SetActual(subnet, tracker_.desired().at(subnet));
    }
    for (const IpPrefix& subnet : removals) {
      if (failing.contains(subnet)) continue;
      ++touched;
      entries.erase(subnet);
      tracker_.EraseActual(subnet);
    }
    lease::SinkReport report{tracker_.desired().size(), tracker_.applied(), {}, settled};
    report.failed = tracker_.pending_upserts().size();
    report.stuck = tracker_.pending_removals().size();
    for (const auto* set : {&tracker_.pending_upserts(), &tracker_.pending_removals()}) {
      for (const IpPrefix& subnet : *set)
        report.pending.push_back(subnet.ToString() + ": told to fail");
    }
    return report;
  }

  std::string name_;
  Tracker tracker_;
};

}  // namespace weft::testing
