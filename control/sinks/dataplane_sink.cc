// SPDX-License-Identifier: Apache-2.0
#include "control/sinks/dataplane_sink.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "vxlan/text/printable.h"

namespace weft::control {
namespace {

dataplane::RemoteSpec SpecOf(const lease::Peer& peer) {
  return {peer.node, peer.subnet, peer.public_ip, peer.vtep_mac};
}

}  // namespace

DataplaneSink::DataplaneSink(dataplane::RemoteTable& table, std::optional<IpFamily> outer,
                             std::string name)
    : table_(table), outer_(outer), name_(std::move(name)) {}

bool DataplaneSink::Reachable(const lease::Peer& peer) const {
  return !outer_ || peer.public_ip.family() == *outer_;
}

lease::SinkReport DataplaneSink::Resync(std::span<const lease::Peer> all) {
  unreachable_.clear();
  std::vector<dataplane::RemoteSpec> specs;
  specs.reserve(all.size());
  for (const lease::Peer& peer : all) {
    if (Reachable(peer)) {
      specs.push_back(SpecOf(peer));
    } else {
      unreachable_.emplace(peer.subnet, peer);
    }
  }
  table_.Resync(specs);
  return Report();
}

lease::SinkReport DataplaneSink::Update(const lease::PeerChanges& changes) {
  std::vector<dataplane::RemoteSpec> specs;
  std::vector<IpPrefix> removed = changes.removals;
  for (const IpPrefix& subnet : changes.removals) unreachable_.erase(subnet);
  for (const lease::Peer& peer : changes.upserts) {
    unreachable_.erase(peer.subnet);
    if (Reachable(peer)) {
      specs.push_back(SpecOf(peer));
    } else {
      removed.push_back(peer.subnet);
      unreachable_.emplace(peer.subnet, peer);
    }
  }
  table_.Update(specs, removed);
  return Report();
}

lease::SinkReport DataplaneSink::Report() const {
  lease::SinkReport report;
  report.desired = table_.size() + unreachable_.size();
  report.applied = table_.size();
  report.failed = unreachable_.size();
  for (const auto& [subnet, peer] : unreachable_) {
    report.pending.push_back(absl::StrCat(subnet.ToString(), ": public IP ",
                                          peer.public_ip.ToString(), " of node ", Quoted(peer.node),
                                          " is not ", outer_ == IpFamily::kV4 ? "IPv4" : "IPv6",
                                          ", the family over which this tunnel sends"));
  }
  return report;
}

}  // namespace weft::control
