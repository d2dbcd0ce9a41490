// SPDX-License-Identifier: Apache-2.0
#include "control/sinks/host_route_sink.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "vxlan/text/printable.h"

namespace weft::control {
namespace {

// Routes in one slice: about 50 ms of the control thread.
constexpr std::size_t kSlice = 1000;
// How long a route that another program replaced is named at least.
constexpr HostRouteSink::Duration kShown = std::chrono::seconds(5);
// The most items that a report names one by one.
constexpr std::size_t kMostNamed = 100;

RouteKey KeyOf(const host::Route& route) { return {route.destination, *route.gateway}; }

}  // namespace

HostRouteSink::HostRouteSink(host::Host& host, HostRouteConfig config, RouteLedger* ledger,
                             std::function<TimePoint()> now, PeerAt peer_at)
    : host_(host),
      config_(std::move(config)),
      ledger_(ledger),
      now_(std::move(now)),
      peer_at_(std::move(peer_at)) {}

std::string HostRouteSink::name() const {
  return absl::StrCat("routes on ", config_.direct ? config_.underlay.name : "",
                      config_.direct && config_.tunnel ? " and " : "",
                      config_.tunnel ? config_.tunnel->name : "",
                      config_.family == IpFamily::kV4 ? " (IPv4)" : " (IPv6)");
}

lease::SinkReport HostRouteSink::Resync(std::span<const lease::Peer> all) {
  Routes::Map desired;
  peers_.clear();
  for (const lease::Peer& peer : all) {
    if (peer.subnet.family() != config_.family) continue;
    if (config_.direct)
      peers_.emplace(peer.subnet, peer);
    else if (const std::optional<Way> way = Place(peer))
      desired.emplace(*way, Form());
  }
  if (!config_.direct) routes_.ReplaceDesired(std::move(desired));
  return ReadApplyAndVerify();
}

lease::SinkReport HostRouteSink::Update(const lease::PeerChanges& changes) {
  for (const lease::Peer& peer : changes.upserts) {
    if (peer.subnet.family() != config_.family) continue;
    if (config_.direct) peers_.insert_or_assign(peer.subnet, peer);
    SetPeer(peer);
  }
  for (const IpPrefix& subnet : changes.removals) {
    peers_.erase(subnet);
    refused_.erase(subnet);
    contests_.erase(subnet);
    if (const Way* const way = DesiredWay(subnet)) routes_.EraseDesired(Way(*way));
  }
  // The actual routes are unknown: Retry reads them first.
  if (!read_error_.empty()) return Report();
  if (!more_) failures_.clear();
  return ApplyAndVerify();
}

lease::SinkReport HostRouteSink::Retry() { return more_ ? ApplyAndVerify() : ReadApplyAndVerify(); }

HostRouteSink::Way HostRouteSink::WayOf(const host::Route& route) {
  return {route.destination, route.gateway, route.adapter_index};
}

host::Route HostRouteSink::RouteOf(const Way& way) const {
  host::Route route;
  std::tie(route.destination, route.gateway, route.adapter_index) = way;
  route.marked = true;
  return route;
}

bool HostRouteSink::IsIntoTunnel(const Way& way) const {
  return config_.tunnel && std::get<std::uint32_t>(way) == config_.tunnel->adapter_index;
}

std::string HostRouteSink::DeviceName(std::uint32_t adapter_index) const {
  if (config_.tunnel && adapter_index == config_.tunnel->adapter_index) return config_.tunnel->name;
  if (adapter_index == config_.underlay.adapter_index) return config_.underlay.name;
  return absl::StrCat("of index ", adapter_index);
}

std::string HostRouteSink::Text(const Way& way) const {
  const auto& [destination, gateway, adapter_index] = way;
  return absl::StrCat("route ", destination.ToString(),
                      gateway ? absl::StrCat(" via ", gateway->ToString()) : "", " dev ",
                      DeviceName(adapter_index));
}

std::string HostRouteSink::Text(const ForeignRoute& other) {
  if (other.route.kind == host::RouteKind::kUnreachable) return "a blackhole or unreachable route";
  return absl::StrCat(
      "a route", other.route.gateway ? absl::StrCat(" via ", other.route.gateway->ToString()) : "",
      " dev ", other.adapter,
      other.route.kind == host::RouteKind::kDerived ? " (made by the system)" : "");
}

lease::Peer HostRouteSink::PeerOf(const IpPrefix& subnet) const {
  const auto peer = peers_.find(subnet);
  return peer != peers_.end() ? peer->second : peer_at_(subnet);
}

const HostRouteSink::Way* HostRouteSink::DesiredWay(const IpPrefix& subnet) const {
  const auto way = routes_.desired().lower_bound({subnet, std::nullopt, 0});
  if (way == routes_.desired().end() || std::get<IpPrefix>(way->first) != subnet) return nullptr;
  return &way->first;
}

std::optional<HostRouteSink::Way> HostRouteSink::Place(const lease::Peer& peer) {
  if (config_.direct && on_link_.Reaches(peer.public_ip))
    return Way(peer.subnet, peer.public_ip, config_.underlay.adapter_index);
  if (config_.tunnel) return Way(peer.subnet, std::nullopt, config_.tunnel->adapter_index);
  refused_[peer.subnet] = absl::StrCat(
      "peer ", Quoted(peer.node), " (", peer.subnet.ToString(), ") has no route: its address ",
      peer.public_ip.ToString(), " is not on the link of ", config_.underlay.name,
      ", and host routes cannot cross a router; connect the node to that link, or use vxlan");
  return std::nullopt;
}

void HostRouteSink::SetPeer(const lease::Peer& peer) {
  refused_.erase(peer.subnet);
  const std::optional<Way> way = Place(peer);
  const Way* const before = DesiredWay(peer.subnet);
  if (before != nullptr && (!way || *before != *way)) routes_.EraseDesired(Way(*before));
  if (way) routes_.SetDesired(*way, Form());
}

void HostRouteSink::PlaceAll() {
  Routes::Map desired;
  refused_.clear();
  for (const auto& [subnet, peer] : peers_)
    if (const std::optional<Way> way = Place(peer)) desired.emplace(*way, Form());
  routes_.ReplaceDesired(std::move(desired));
}

lease::SinkReport HostRouteSink::ReadApplyAndVerify() {
  failures_.clear();
  more_ = false;
  const bool read = ReadBack();
  if (config_.direct) PlaceAll();
  if (!read) return Report();
  SyncLedger();
  verify_ = true;
  return ApplyAndVerify();
}

lease::SinkReport HostRouteSink::ApplyAndVerify() {
  Apply();
  if (more_) {
    verify_ = true;
  } else if (std::exchange(verify_, false) && wrote_) {
    ReadBack();
  }
  return Report();
}

void HostRouteSink::SyncLedger() {
  if (ledger_ == nullptr || !config_.direct) return;
  RouteKeys ours, gone = owned_;
  std::erase_if(left_, [&](const auto& each) { return !foreign_.contains(each.first); });
  for (const RouteKey& key : existing_owned_) gone.erase(key);
  for (const auto& [way, form] : routes_.desired()) {
    if (IsIntoTunnel(way)) continue;
    const RouteKey key = KeyOf(RouteOf(way));
    gone.erase(key);
    if (routes_.actual().contains(way) && !owned_.contains(key)) ours.insert(key);
  }
  for (const auto& [destination, gateway] : gone) {
    if (const auto other = foreign_.find(destination); other != foreign_.end())
      left_[destination] = absl::StrCat(
          "route ", destination.ToString(), " via ", gateway.ToString(),
          " is no longer flanneld's: ", Text(other->second.front()), " has its place and is left");
  }
  Disown(gone);
  if (!ours.empty()) ledger_->Intend(ours);
  owned_.insert(ours.begin(), ours.end());
}

HostRouteSink::Step HostRouteSink::StepFor(const Way& way) {
  const IpPrefix& destination = std::get<IpPrefix>(way);
  const auto at = routes_.actual().lower_bound({destination, std::nullopt, 0});
  const bool have_one =
      at != routes_.actual().end() && std::get<IpPrefix>(at->first) == destination;
  const auto found = foreign_.find(destination);
  if (found == foreign_.end()) return have_one ? Step::kReplace : Step::kPut;
  const std::vector<ForeignRoute>& foreign = found->second;
  const auto contest = contests_.find(destination);
  if (contest != contests_.end() && !WouldReplaceDerived(way, foreign)) {
    if (contest->second.next <= now_()) return Step::kReplace;
    failures_[way] = absl::StrCat("another program has replaced it ", contest->second.times,
                                  " times, last with ", contest->second.by,
                                  "; it is put back after a pause; stop one of the two programs");
    return Step::kWait;
  }
  if (std::all_of(foreign.begin(), foreign.end(),
                  [&](const ForeignRoute& other) { return IsUpstreamRoute(other.route); }))
    return Step::kTakeOver;
  const bool in_the_way =
      std::any_of(foreign.begin(), foreign.end(),
                  [&](const ForeignRoute& other) { return WouldReplace(way, other.route); });
  if (have_one && !in_the_way) return Step::kReplace;
  const auto blocking =
      std::find_if_not(foreign.begin(), foreign.end(),
                       [&](const ForeignRoute& other) { return IsUpstreamRoute(other.route); });
  failures_[way] = absl::StrCat(
      Text(*blocking), ", which is not flanneld's, has this destination, the subnet of node ",
      Quoted(PeerOf(destination).node), "; remove it, or give that node another podCIDR");
  return Step::kWait;
}

void HostRouteSink::Put(const std::vector<Way>& ways, bool over) {
  if (ways.empty()) return;
  std::vector<host::Route> routes;
  RouteKeys fresh;
  for (const Way& way : ways) {
    routes.push_back(RouteOf(way));
    if (!IsIntoTunnel(way) && owned_.insert(KeyOf(routes.back())).second)
      fresh.insert(KeyOf(routes.back()));
  }
  if (ledger_ != nullptr && !fresh.empty()) ledger_->Intend(fresh);
  wrote_ = true;
  const auto results = over ? host_.ReplaceRoutes(routes) : host_.PutRoutes(routes);
  RouteKeys taken;
  for (std::size_t i = 0; i < ways.size(); ++i) {
    if (results[i].ok()) {
      routes_.SetActual(ways[i], Form());
      if (lost_.erase(ways[i]) > 0 && restored_++ == 0) restored_one_ = Text(ways[i]);
      continue;
    }
    failures_[ways[i]] = results[i].message();
    // The route appeared after the reading; Retry reads again.
    if (absl::IsAlreadyExists(results[i]) && !IsIntoTunnel(ways[i]) &&
        fresh.contains(KeyOf(routes[i])))
      taken.insert(KeyOf(routes[i]));
  }
  Disown(taken);
}

void HostRouteSink::TakeOver(const std::vector<Way>& ways) {
  std::vector<FormerRoute> former;
  std::vector<Way> to_put;
  std::vector<host::Route> obsolete;
  for (const Way& way : ways) {
    bool exists = false;  // in sync already: routes of Windows bear no mark
    for (const ForeignRoute& other : foreign_[std::get<IpPrefix>(way)]) {
      if (!IsIntoTunnel(WayOf(other.route))) former.push_back({other.route, other.adapter});
      if (!host_.is_windows()) continue;
      if (WayOf(other.route) == way)
        exists = true;
      else
        obsolete.push_back(other.route);
    }
    if (exists)
      routes_.SetActual(way, Form());
    else
      to_put.push_back(way);
  }
  if (ledger_ != nullptr && !former.empty()) ledger_->IntendTakeover(former);
  Put(to_put, /*over=*/true);
  std::erase_if(obsolete, [&](const host::Route& route) {
    const Way* const way = DesiredWay(route.destination);
    return way == nullptr || failures_.contains(*way);
  });
  if (!obsolete.empty()) host_.RemoveRoutes(obsolete);
  for (const Way& way : ways)
    if (!failures_.contains(way)) foreign_.erase(std::get<IpPrefix>(way));
}

void HostRouteSink::PutSome(std::size_t& room) {
  std::map<Step, std::vector<Way>> ways;
  for (const Way& way : routes_.pending_upserts()) {
    if (failures_.contains(way)) continue;
    if (room == 0) {
      more_ = true;
      break;
    }
    --room;
    ways[StepFor(way)].push_back(way);
  }
  Put(ways[Step::kPut], /*over=*/false);
  Put(ways[Step::kReplace], /*over=*/true);
  if (!ways[Step::kTakeOver].empty()) TakeOver(ways[Step::kTakeOver]);
}

void HostRouteSink::RemoveSome(std::size_t& room) {
  std::vector<host::Route> stale;
  for (const Way& way : routes_.pending_removals()) {
    if (failures_.contains(way)) continue;
    if (room == 0) {
      more_ = true;
      break;
    }
    --room;
    const Way* const desired = DesiredWay(std::get<IpPrefix>(way));
    if (desired == nullptr || !routes_.pending_upserts().contains(*desired))
      stale.push_back(RouteOf(way));
    else
      failures_[way] = "stays until the route that takes its place can be put";
  }
  if (stale.empty()) return;
  wrote_ = true;
  RouteKeys gone;
  const auto results = host_.RemoveRoutes(stale);
  for (std::size_t i = 0; i < stale.size(); ++i) {
    const Way way = WayOf(stale[i]);
    if (!results[i].ok()) {
      failures_[way] = results[i].message();
      continue;
    }
    routes_.EraseActual(way);
    if (IsIntoTunnel(way)) continue;
    // A route that moved to another adapter of the link has the same key.
    const Way* const desired = DesiredWay(stale[i].destination);
    if (desired != nullptr && std::get<1>(*desired) == stale[i].gateway) continue;
    gone.insert(KeyOf(stale[i]));
  }
  Disown(gone);
}

void HostRouteSink::Disown(const RouteKeys& keys) {
  for (const RouteKey& key : keys) owned_.erase(key);
  if (ledger_ != nullptr && !keys.empty()) ledger_->Forget(keys);
}

void HostRouteSink::Apply() {
  more_ = false;
  std::size_t room = kSlice;
  PutSome(room);
  if (!more_) RemoveSome(room);
  // What is not desired any more is not to be put back.
  std::erase_if(lost_, [&](const Way& way) { return !routes_.pending_upserts().contains(way); });
}

lease::SinkReport HostRouteSink::Report() {
  lease::SinkReport report;
  report.restored = std::exchange(restored_, 0);
  report.restored_one = std::exchange(restored_one_, "");
  if (!read_error_.empty()) {
    report.desired = config_.direct ? peers_.size() : routes_.desired().size();
    report.pending.push_back(read_error_);
    return report;
  }
  report.desired = routes_.desired().size();
  report.applied = routes_.applied();
  report.more = more_;
  report.settled = !more_;
  for (const auto& [subnet, why] : refused_) report.refused.push_back(why);
  std::size_t unnamed = 0;
  for (const auto& [destination, text] : left_) report.notes.push_back(text);
  for (const auto& [subnet, contest] : contests_) {
    if (now_() > contest.last + std::max(contest.pause, kShown)) continue;  // it may be over
    if (report.notes.size() == kMostNamed)
      ++unnamed;
    else
      report.notes.push_back(absl::StrCat(
          "another program replaces the route to ", subnet.ToString(), " (",
          contest.times == 1 ? "once" : absl::StrCat(contest.times, " times"), ", last with ",
          contest.by, "); it is put back; stop one of the two programs"));
  }
  if (unnamed > 0) report.notes.push_back(absl::StrCat("and ", unnamed, " more"));
  unnamed = 0;
  const auto add = [&](const Way& way, std::string_view why, std::size_t& count) {
    ++count;
    if (report.pending.size() < kMostNamed)
      report.pending.push_back(absl::StrCat(Text(way), ": ", why));
    else
      ++unnamed;
  };
  const auto add_failure = [&](const Way& way, std::string_view otherwise, std::size_t& count) {
    const auto failure = failures_.find(way);
    if (failure != failures_.end())
      add(way, failure->second, count);
    else if (!more_)
      add(way, otherwise, count);
  };
  for (const Way& way : routes_.pending_upserts())
    add_failure(way, "missing when read back", report.failed);
  for (const Way& way : routes_.pending_removals())
    add_failure(way, "still present when read back", report.stuck);
  for (const auto& [way, by] : preceded_) {
    if (!routes_.desired().contains(way) || routes_.pending_upserts().contains(way)) continue;
    --report.applied;
    add(way,
        absl::StrCat("has no effect: ", by,
                     ", which is not flanneld's, has this destination and precedes it; remove that "
                     "one"),
        report.failed);
  }
  if (unnamed > 0) report.pending.push_back(absl::StrCat("and ", unnamed, " more"));
  return report;
}

}  // namespace weft::control
