// SPDX-License-Identifier: Apache-2.0
#include "control/sinks/device_route_sink.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace weft::control {

host::Route DeviceRoute(const IpPrefix& subnet, std::uint32_t adapter_index) {
  host::Route route;
  route.destination = subnet;
  route.gateway = subnet.base();
  route.adapter_index = adapter_index;
  route.onlink = true;
  return route;
}

DeviceRouteSink::DeviceRouteSink(host::Host& host, std::uint32_t adapter_index, std::string device,
                                 IpFamily family)
    : host_(host), adapter_index_(adapter_index), device_(std::move(device)), family_(family) {}

std::string DeviceRouteSink::name() const {
  return absl::StrCat("routes on ", device_, family_ == IpFamily::kV4 ? " (IPv4)" : " (IPv6)");
}

lease::SinkReport DeviceRouteSink::Resync(std::span<const lease::Peer> all) {
  Routes::Map desired;
  for (const lease::Peer& peer : all) {
    if (peer.subnet.family() == family_) desired.emplace(peer.subnet, RouteFor(peer.subnet));
  }
  routes_.ReplaceDesired(std::move(desired));
  return ReadApplyAndVerify();
}

lease::SinkReport DeviceRouteSink::Update(const lease::PeerChanges& changes) {
  for (const lease::Peer& peer : changes.upserts) {
    if (peer.subnet.family() == family_) routes_.SetDesired(peer.subnet, RouteFor(peer.subnet));
  }
  for (const IpPrefix& subnet : changes.removals) routes_.EraseDesired(subnet);
  // Without a reading, what is there is not known: the Retry reads first.
  if (unread_.empty()) Apply();
  return Report();
}

lease::SinkReport DeviceRouteSink::Retry() {
  if (!unread_.empty()) return ReadApplyAndVerify();
  Apply();
  return Report();
}

host::Route DeviceRouteSink::RouteFor(const IpPrefix& subnet) const {
  return DeviceRoute(subnet, adapter_index_);
}

bool DeviceRouteSink::SameRoute::operator()(const host::Route& desired,
                                            const host::Route& actual) const {
  return desired.destination == actual.destination && desired.gateway == actual.gateway &&
         desired.adapter_index == actual.adapter_index && desired.onlink == actual.onlink;
}

bool DeviceRouteSink::ReadBack() {
  const auto found = host_.Routes(family_, adapter_index_);
  if (!found.ok()) {
    unread_ = absl::StrCat("routes of ", device_, " cannot be read: ", found.status().message());
    return false;
  }
  unread_.clear();
  Routes::Map ours;
  for (const host::Route& route : *found) {
    if (SameRoute()(RouteFor(route.destination), route))
      ours.insert_or_assign(route.destination, route);
  }
  routes_.ReplaceActual(std::move(ours));
  return true;
}

lease::SinkReport DeviceRouteSink::ReadApplyAndVerify() {
  failures_.clear();
  if (!ReadBack()) return Report();
  const bool was_in_sync = routes_.in_sync();
  Apply();
  if (!was_in_sync) ReadBack();
  return Report();
}

void DeviceRouteSink::Apply() {
  failures_.clear();
  std::vector<host::Route> wanted;
  for (const IpPrefix& subnet : routes_.pending_upserts())
    wanted.push_back(routes_.desired().at(subnet));
  std::vector<host::Route> unwanted;
  for (const IpPrefix& subnet : routes_.pending_removals())
    unwanted.push_back(routes_.actual().at(subnet));

  if (!wanted.empty()) {
    const auto results = host_.PutRoutes(wanted);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (results[i].ok()) {
        routes_.SetActual(wanted[i].destination, wanted[i]);
      } else {
        Fail(wanted[i], results[i]);
      }
    }
  }
  if (!unwanted.empty()) {
    const auto results = host_.RemoveRoutes(unwanted);
    for (std::size_t i = 0; i < unwanted.size(); ++i) {
      if (results[i].ok()) {
        routes_.EraseActual(unwanted[i].destination);
      } else {
        Fail(unwanted[i], results[i]);
      }
    }
  }
}

void DeviceRouteSink::Fail(const host::Route& route, const absl::Status& status) {
  failures_[route.destination] = absl::StrCat("route ", route.destination.ToString(), " dev ",
                                              device_, ": ", status.message());
}

lease::SinkReport DeviceRouteSink::Report() const {
  lease::SinkReport report;
  report.desired = routes_.desired().size();
  if (!unread_.empty()) {
    report.pending.push_back(unread_);
    return report;
  }
  report.applied = routes_.applied();
  const auto tell = [&](const IpPrefix& subnet, const char* otherwise) {
    const auto failure = failures_.find(subnet);
    report.pending.push_back(
        failure != failures_.end()
            ? failure->second
            : absl::StrCat("route ", subnet.ToString(), " dev ", device_, ": ", otherwise));
  };
  for (const IpPrefix& subnet : routes_.pending_upserts()) tell(subnet, "not there when read back");
  for (const IpPrefix& subnet : routes_.pending_removals())
    tell(subnet, "still there when read back");
  return report;
}

}  // namespace weft::control
