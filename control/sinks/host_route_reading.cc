// SPDX-License-Identifier: Apache-2.0
// Evaluates a reading of the host: which routes are ours, and which foreign routes block a peer.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/sinks/host_route_sink.h"

namespace weft::control {
namespace {

// The kernel's metric for an IPv6 route without one (IP6_RT_PRIO_USER).
constexpr std::uint64_t kLinuxDefaultMetricV6 = 1024;

constexpr auto kFirstPause = std::chrono::seconds(1);
constexpr auto kMostPause = std::chrono::minutes(5);
// A contest is over after this time without another loss. Longer than the longest pause.
constexpr auto kContestQuiet = std::chrono::minutes(10);

}  // namespace

std::uint64_t HostRouteSink::Precedence(const host::Route& route) const {
  const bool unset = !host_.is_windows() && route.metric == 0 && config_.family == IpFamily::kV6;
  return host::PrecedenceOf(route) + (unset ? kLinuxDefaultMetricV6 : 0);
}

bool HostRouteSink::Matters(const IpPrefix& destination) const {
  if (config_.network.Contains(destination) || peers_.contains(destination) ||
      left_.contains(destination) || DesiredWay(destination) != nullptr)
    return true;
  const auto owned = owned_.lower_bound({destination, IpAddress()});
  return owned != owned_.end() && owned->first == destination;
}

bool HostRouteSink::IsOurs(const host::Route& route) const {
  if (route.kind != host::RouteKind::kPlain || !route.marked) return false;
  const bool tunnels = config_.tunnel && route.adapter_index == config_.tunnel->adapter_index;
  if (!route.gateway) return tunnels;
  return !host_.is_windows() || owned_.contains({route.destination, *route.gateway});
}

// `ip route add` and upstream v0.28.9 alike put routes without a metric, on Linux with protocol
// "boot", on Windows by New-NetRoute. A route on the underlay that leads elsewhere than to the peer
// is an administrator's.
bool HostRouteSink::IsUpstreamRoute(const host::Route& route) const {
  if (route.kind != host::RouteKind::kPlain || route.claimed || route.source) return false;
  if (!host_.is_windows() && route.metric != 0) return false;
  if (config_.tunnel && route.adapter_index == config_.tunnel->adapter_index) return true;
  if (upstream_ != 0 && route.adapter_index == upstream_) return true;
  return underlay_ != 0 && route.adapter_index == underlay_ && route.gateway &&
         *route.gateway == PeerOf(route.destination).public_ip;
}

bool HostRouteSink::WouldReplace(const Way& way, const host::Route& other) const {
  if (host_.is_windows()) return WayOf(other) == way;
  return Precedence(other) == Precedence(RouteOf(way));
}

bool HostRouteSink::WouldReplaceDerived(const Way& way,
                                        const std::vector<ForeignRoute>& foreign) const {
  return std::any_of(foreign.begin(), foreign.end(), [&](const ForeignRoute& other) {
    return other.route.kind == host::RouteKind::kDerived && WouldReplace(way, other.route);
  });
}

absl::Status HostRouteSink::Read() {
  const absl::StatusOr<std::vector<host::Adapter>> adapters = host_.Adapters();
  if (!adapters.ok()) return adapters.status();
  const absl::StatusOr<std::vector<host::Route>> found = host_.Routes(config_.family);
  if (!found.ok()) return found.status();

  underlay_ = config_.underlay.adapter_index;
  upstream_ = 0;
  std::map<std::uint32_t, std::string> names;
  for (const host::Adapter& adapter : *adapters) {
    names.emplace(adapter.index, adapter.name);
    if (!config_.upstream_device.empty() && adapter.name == config_.upstream_device)
      upstream_ = adapter.index;
    if (config_.underlay.adapter_index != 0) continue;
    for (const host::AssignedAddress& assigned : adapter.addresses)
      if (assigned.address == config_.node_address) underlay_ = adapter.index;
  }
  const absl::StatusOr<OnLink> on_link = OnLink::Of(underlay_, *adapters, *found);
  if (!on_link.ok() && config_.direct) return on_link.status();
  on_link_ = on_link.value_or(OnLink());
  // Routes into the tunnel disappear with it and are not in the ledger, whose folder is then not
  // created.
  owned_ = ledger_ != nullptr && config_.direct ? ledger_->Owned(config_.network) : RouteKeys();

  Routes::Map ours;
  existing_owned_.clear();
  foreign_.clear();
  for (const host::Route& route : *found) {
    if (IsOurs(route)) {
      ours.insert_or_assign(WayOf(route), Form{route.onlink, route.marked});
      if (route.gateway) existing_owned_.insert({route.destination, *route.gateway});
      continue;
    }
    if (chooses()) on_link_.Exclude(route);
    if (Matters(route.destination))
      foreign_[route.destination].push_back({route, names[route.adapter_index]});
  }
  FindPreceding(*found);
  FindContests(ours);
  const auto missing_before = routes_.pending_upserts();
  routes_.ReplaceActual(std::move(ours));
  for (const Way& way : routes_.pending_upserts())
    if (!missing_before.contains(way)) lost_.insert(way);
  return absl::OkStatus();
}

// The system lists the routes of one destination in the order in which it tries them.
void HostRouteSink::FindPreceding(const std::vector<host::Route>& found) {
  preceded_.clear();
  if (foreign_.empty()) return;
  // The least precedence among foreign routes, and the index of that route.
  std::map<IpPrefix, std::pair<std::uint64_t, std::size_t>> best;
  std::map<IpPrefix, std::size_t> turns;
  for (const host::Route& route : found) {
    const auto foreign = foreign_.find(route.destination);
    if (foreign == foreign_.end()) continue;
    const std::uint64_t own = Precedence(route);
    const auto first = best.find(route.destination);
    if (!IsOurs(route)) {
      const std::size_t turn = turns[route.destination]++;
      if (first == best.end() || own < first->second.first)
        best.insert_or_assign(route.destination, std::pair(own, turn));
    } else if (first != best.end() && first->second.first <= own) {
      preceded_[WayOf(route)] = Text(foreign->second[first->second.second]);
    } else {
      // A route that is listed later precedes ours only by a lesser metric.
      for (const ForeignRoute& other : foreign->second)
        if (Precedence(other.route) < own) preceded_[WayOf(route)] = Text(other);
    }
  }
}

void HostRouteSink::FindContests(const Routes::Map& ours) {
  const TimePoint now = now_();
  std::erase_if(contests_, [&](const auto& each) {
    return now - each.second.last > kContestQuiet || DesiredWay(each.first) == nullptr;
  });
  for (const auto& [destination, foreign] : foreign_) {
    const Way* const way = DesiredWay(destination);
    if (way == nullptr || !routes_.actual().contains(*way) || ours.contains(*way)) continue;
    if (WouldReplaceDerived(*way, foreign)) continue;
    Contest& contest = contests_[destination];
    ++contest.times;
    contest.last = now;
    contest.next = now + contest.pause;
    contest.pause = contest.pause == Duration::zero()
                        ? Duration(kFirstPause)
                        : std::min<Duration>(2 * contest.pause, kMostPause);
    contest.by = Text(foreign.front());
  }
}

bool HostRouteSink::ReadBack() {
  wrote_ = false;
  const absl::Status read = Read();
  read_error_ = read.ok()
                    ? ""
                    : absl::StrCat("routes of ",
                                   config_.direct ? config_.underlay.name : config_.tunnel->name,
                                   " cannot be read: ", read.message());
  return read.ok();
}

bool HostRouteSink::IsConcernedBy(const host::RouteChanges& changes) const {
  if (changes.empty()) return true;
  return std::any_of(changes.begin(), changes.end(), [&](const host::RouteChange& change) {
    const host::Route& route = change.route;
    if (change.whole_adapter) {
      return route.adapter_index == underlay_ ||
             (config_.tunnel && route.adapter_index == config_.tunnel->adapter_index);
    }
    const Way* const way = DesiredWay(route.destination);
    if (way == nullptr) return chooses() && !IsOurs(route) && on_link_.Covers(route.destination);
    // What we wrote ourselves is no concern: some systems report that, too.
    const bool right = route.kind == host::RouteKind::kPlain && route.marked && !route.onlink;
    return change.gone || !right || WayOf(route) != *way;
  });
}

absl::StatusOr<OnLink> OnLink::Of(std::uint32_t adapter_index,
                                  const std::vector<host::Adapter>& adapters,
                                  const std::vector<host::Route>& routes) {
  const auto adapter = std::ranges::find(adapters, adapter_index, &host::Adapter::index);
  if (adapter == adapters.end()) return absl::NotFoundError("the adapter is gone");
  if (!adapter->up) return absl::NotFoundError("the adapter is down; set it up");
  OnLink on_link;
  on_link.adapter_index_ = adapter_index;
  for (const host::AssignedAddress& assigned : adapter->addresses) {
    if (const auto prefix = IpPrefix::From(assigned.address, assigned.prefix_length))
      on_link.prefixes_.push_back(*prefix);
  }
  for (const host::Route& route : routes) {
    if (route.adapter_index == adapter_index && !route.gateway)
      on_link.prefixes_.push_back(route.destination);
  }
  return on_link;
}

void OnLink::Exclude(const host::Route& route) {
  const bool leads_elsewhere = route.gateway || route.adapter_index != adapter_index_;
  if (route.kind == host::RouteKind::kPlain && leads_elsewhere && Covers(route.destination))
    elsewhere_.insert(route.destination);
}

bool OnLink::Covers(const IpPrefix& destination) const {
  return std::any_of(prefixes_.begin(), prefixes_.end(), [&](const IpPrefix& prefix) {
    return prefix != destination && prefix.Contains(destination);
  });
}

bool OnLink::Reaches(const IpAddress& address) const {
  int longest = -1;
  for (const IpPrefix& prefix : prefixes_)
    if (prefix.Contains(address)) longest = std::max(longest, prefix.length());
  if (longest < 0 || elsewhere_.empty()) return longest >= 0;
  for (int length = longest + 1; length <= address.bits(); ++length)
    if (elsewhere_.contains(*IpPrefix::From(address, length))) return false;
  return true;
}

}  // namespace weft::control
