// SPDX-License-Identifier: Apache-2.0
#include "control/sinks/host_route_sink.h"

#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "control/lease/quoted.h"
#include "control/sinks/device_route_sink.h"

namespace weft::control {

namespace {

RouteKey KeyOf(const host::Route& route) { return {route.destination, *route.gateway}; }

}  // namespace

HostRouteSink::HostRouteSink(host::Host& host, HostRouteConfig config, RouteJournal* journal)
    : host_(host), config_(std::move(config)), journal_(journal) {}

std::string HostRouteSink::name() const {
  return absl::StrCat("routes on ", config_.underlay.name,
                      config_.tunnel ? absl::StrCat(" and ", config_.tunnel->name) : "",
                      config_.family == IpFamily::kV4 ? " (IPv4)" : " (IPv6)");
}

lease::SinkReport HostRouteSink::Resync(std::span<const lease::Peer> all) {
  peers_.clear();
  for (const lease::Peer& peer : all) {
    if (peer.subnet.family() == config_.family) peers_.emplace(peer.subnet, peer);
  }
  return ReadApplyAndVerify();
}

lease::SinkReport HostRouteSink::Update(const lease::PeerChanges& changes) {
  for (const lease::Peer& peer : changes.upserts) {
    if (peer.subnet.family() != config_.family) continue;
    peers_.insert_or_assign(peer.subnet, peer);
    SetPeer(peer);
  }
  for (const IpPrefix& subnet : changes.removals) {
    peers_.erase(subnet);
    refused_.erase(subnet);
    if (const auto way = ways_.find(subnet); way != ways_.end()) {
      routes_.EraseDesired(way->second);
      ways_.erase(way);
    }
  }
  // Without a reading, what is there is not known: the Retry reads first.
  if (unread_.empty()) Apply();
  return Report();
}

lease::SinkReport HostRouteSink::Retry() { return ReadApplyAndVerify(); }

HostRouteSink::Way HostRouteSink::WayOf(const host::Route& route) {
  return {route.destination, *route.gateway, route.adapter_index};
}

const HostRouteConfig::Device& HostRouteSink::DeviceOf(const host::Route& route) const {
  return config_.tunnel && route.adapter_index == config_.tunnel->adapter_index ? *config_.tunnel
                                                                                : config_.underlay;
}

std::string HostRouteSink::Text(const host::Route& route) const {
  const HostRouteConfig::Device& device = DeviceOf(route);
  return absl::StrCat(
      "route ", route.destination.ToString(), " via ", route.gateway->ToString(), " dev ",
      route.adapter_index == device.adapter_index ? device.name
                                                  : absl::StrCat("of index ", route.adapter_index));
}

bool HostRouteSink::IsOurs(const host::Route& route) const {
  if (!route.gateway) return false;
  if (config_.tunnel && route.adapter_index == config_.tunnel->adapter_index)
    return route.onlink && *route.gateway == route.destination.base();
  return route.marked &&
         (config_.network.Contains(route.destination) || peers_.contains(route.destination));
}

std::optional<host::Route> HostRouteSink::Place(const lease::Peer& peer) {
  if (on_link_.Reaches(peer.public_ip)) {
    host::Route route;
    route.destination = peer.subnet;
    route.gateway = peer.public_ip;
    route.adapter_index = config_.underlay.adapter_index;
    route.marked = true;
    return route;
  }
  if (config_.tunnel) return DeviceRoute(peer.subnet, config_.tunnel->adapter_index);
  refused_[peer.subnet] = absl::StrCat(
      "peer ", lease::Quoted(peer.node), " (", peer.subnet.ToString(),
      ") has no route: its address ", peer.public_ip.ToString(), " is not on link of ",
      config_.underlay.name,
      ", and host routes lead past no router: join the node to that link, or use vxlan");
  return std::nullopt;
}

void HostRouteSink::SetPeer(const lease::Peer& peer) {
  refused_.erase(peer.subnet);
  const std::optional<host::Route> route = Place(peer);
  const auto before = ways_.find(peer.subnet);
  if (before != ways_.end() && (!route || before->second != WayOf(*route))) {
    routes_.EraseDesired(before->second);
    ways_.erase(before);
  }
  if (!route) return;
  ways_.insert_or_assign(peer.subnet, WayOf(*route));
  routes_.SetDesired(WayOf(*route), *route);
}

void HostRouteSink::PlaceAll() {
  Routes::Map desired;
  ways_.clear();
  refused_.clear();
  for (const auto& [subnet, peer] : peers_) {
    const std::optional<host::Route> route = Place(peer);
    if (!route) continue;
    ways_.emplace(subnet, WayOf(*route));
    desired.emplace(WayOf(*route), *route);
  }
  routes_.ReplaceDesired(std::move(desired));
}

bool HostRouteSink::ReadBack() {
  const absl::StatusOr<std::vector<host::Adapter>> adapters = host_.Adapters();
  const absl::StatusOr<std::vector<host::Route>> found = host_.Routes(config_.family);
  const absl::Status read = !adapters.ok() ? adapters.status() : found.status();
  const absl::StatusOr<OnLink> on_link =
      read.ok() ? OnLink::Of(config_.underlay.adapter_index, *adapters, *found)
                : absl::StatusOr<OnLink>(read);
  if (!on_link.ok()) {
    unread_ = absl::StrCat("routes of ", config_.underlay.name,
                           " cannot be read: ", on_link.status().message());
    return false;
  }
  unread_.clear();
  on_link_ = *on_link;
  Routes::Map ours;
  there_.clear();
  for (const host::Route& route : *found) {
    if (route.gateway) there_.insert(KeyOf(route));
    if (IsOurs(route)) ours.insert_or_assign(WayOf(route), route);
  }
  routes_.ReplaceActual(std::move(ours));
  return true;
}

lease::SinkReport HostRouteSink::ReadApplyAndVerify() {
  failures_.clear();
  const bool read = ReadBack();
  PlaceAll();
  if (!read) return Report();
  KeepInJournal();
  const bool was_in_sync = routes_.in_sync();
  Apply();
  if (!was_in_sync) ReadBack();
  return Report();
}

void HostRouteSink::KeepInJournal() {
  if (journal_ == nullptr) return;
  RouteKeys keys = there_;
  for (const auto& [way, route] : routes_.desired()) keys.insert(KeyOf(route));
  journal_->KeepOnly(config_.family, keys);
}

void HostRouteSink::Put(const std::vector<host::Route>& wanted, std::set<IpPrefix>& refused) {
  RouteKeys fresh;
  for (const host::Route& route : wanted) {
    if (route.marked && !there_.contains(KeyOf(route))) fresh.insert(KeyOf(route));
  }
  if (journal_ != nullptr && !fresh.empty()) journal_->BeforePut(fresh);
  const auto results = host_.PutRoutes(wanted);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (results[i].ok()) {
      routes_.SetActual(WayOf(wanted[i]), wanted[i]);
      there_.insert(KeyOf(wanted[i]));
    } else {
      failures_[WayOf(wanted[i])] = results[i].message();
      refused.insert(wanted[i].destination);
    }
  }
}

void HostRouteSink::Remove(const std::vector<host::Route>& unwanted) {
  RouteKeys gone;
  const auto results = host_.RemoveRoutes(unwanted);
  for (std::size_t i = 0; i < unwanted.size(); ++i) {
    if (results[i].ok()) {
      routes_.EraseActual(WayOf(unwanted[i]));
      // The one that moved to another adapter of the link is the same.
      const auto way = ways_.find(unwanted[i].destination);
      if (way != ways_.end() && std::get<IpAddress>(way->second) == *unwanted[i].gateway) continue;
      there_.erase(KeyOf(unwanted[i]));
      gone.insert(KeyOf(unwanted[i]));
    } else {
      failures_[WayOf(unwanted[i])] = results[i].message();
    }
  }
  if (journal_ != nullptr && !gone.empty()) journal_->Removed(gone);
}

void HostRouteSink::Apply() {
  failures_.clear();
  std::vector<host::Route> wanted;
  for (const Way& way : routes_.pending_upserts()) wanted.push_back(routes_.desired().at(way));
  std::set<IpPrefix> refused;
  if (!wanted.empty()) Put(wanted, refused);

  std::vector<host::Route> unwanted;
  for (const Way& way : routes_.pending_removals()) {
    if (!refused.contains(std::get<IpPrefix>(way)))
      unwanted.push_back(routes_.actual().at(way));
    else
      failures_[way] = "stays until the route that takes its place can be put";
  }
  if (!unwanted.empty()) Remove(unwanted);
}

lease::SinkReport HostRouteSink::Report() const {
  lease::SinkReport report;
  report.desired = routes_.desired().size();
  for (const auto& [subnet, why] : refused_) report.refused.push_back(why);
  if (!unread_.empty()) {
    report.refused.clear();  // what is on link is not known
    report.desired = peers_.size();
    report.pending.push_back(unread_);
    return report;
  }
  report.applied = routes_.applied();
  const auto tell = [&](const host::Route& route, const char* otherwise) {
    const auto failure = failures_.find(WayOf(route));
    report.pending.push_back(
        absl::StrCat(Text(route), ": ", failure != failures_.end() ? failure->second : otherwise));
  };
  for (const Way& way : routes_.pending_upserts())
    tell(routes_.desired().at(way), "not there when read back");
  for (const Way& way : routes_.pending_removals())
    tell(routes_.actual().at(way), "still there when read back");
  return report;
}

}  // namespace weft::control
