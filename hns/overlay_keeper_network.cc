// SPDX-License-Identifier: Apache-2.0
// The part of the keeper that looks for the network and makes it.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hns/api/hresult.h"
#include "hns/base_network.h"
#include "hns/overlay_keeper.h"

namespace weft::hns {
namespace {

// HNS restores persistent networks a while after it answers.
constexpr Duration kForgetAfter = std::chrono::minutes(10);
// How long a network is left to pods of an earlier PodCIDR, and how often they are looked for.
constexpr Duration kPodsTime = std::chrono::minutes(5);
constexpr Duration kPodsPeriod = std::chrono::seconds(2);

// What a refused create means to who reads it. The list was read just before.
std::string CreateHint(const absl::Status& status, const OverlayWish& wish) {
  switch (HresultOf(status).value_or(hresult::kOk)) {
    case hresult::kElementNotFound:
    case hresult::kUnspecified:
      return "; HNS may still be settling after a delete, it is asked again";
    case hresult::kNetworkAlreadyExists:
      return absl::StrCat("; HNS says that the name ", wish.name,
                          " is taken and did not list it: made just now, or left over from a "
                          "delete; it is looked for again, and if this stays, restart the service "
                          "hns; if that does not help, reboot this node");
    case hresult::kAdapterNotFound:
      return absl::StrCat("; asked for was \"", PhysicalAdapter(wish.adapter), "\" (--iface)");
    default:
      return {};
  }
}

}  // namespace

OverlayKeeper::MaybeWait OverlayKeeper::FindNetwork(TimePoint now) {
  if (!version_) {
    const absl::StatusOr<Version> version = client_.ReadVersion();
    if (!version.ok()) return Failed(OverlayState::kHns, version.status());
    version_ = *version;
  }
  absl::StatusOr<std::vector<Network>> networks = Networks();
  if (!networks.ok()) return Failed(OverlayState::kHns, networks.status());
  FillUnshown(client_, wish_, journal_->Entries(Kind::kNetwork), *networks);
  std::vector<Endpoint> endpoints;
  const Network* const existing = FindOverlay(wish_, *networks);
  if (existing == nullptr) {
    reading_.reset();
  } else if (!Differences(wish_, *existing).empty()) {
    absl::StatusOr<std::vector<Endpoint>> found = client_.Endpoints(existing->id);
    if (!found.ok()) return Failed(OverlayState::kNetwork, found.status());
    endpoints = *std::move(found);
  }
  const NetworkPlan plan = PlanNetwork(wish_, *version_, *networks, endpoints, adapter_way_);
  if (plan.action == NetworkAction::kRefuse) {
    ForgetNetwork();
    reading_.reset();
    version_.reset();  // updates may bring another one
    return Wait{OverlayState::kNetwork, plan.reason, kRefusalPeriod};
  }
  if (plan.action == NetworkAction::kRecreate && WasMade()) {
    ForgetNetwork();
    reading_.reset();
    return Wait{OverlayState::kNetwork, absl::StrCat(plan.reason, kNotAgain), kRefusalPeriod};
  }
  if (plan.action != NetworkAction::kRecreate)
    pods_since_.reset();
  else if (auto wait = AwaitPods(plan, endpoints, now))
    return wait;
  LookAtOthers(*networks, now);
  if (auto wait = PutBase(plan, *networks, now)) return wait;
  switch (plan.action) {
    case NetworkAction::kAdopt:
      return Adopt(*plan.existing);
    case NetworkAction::kRecreate:
      return Replace(plan);
    default:
      return Create(plan);
  }
}

// All of them only where they matter: one of another's that cannot be read fails the list.
absl::StatusOr<std::vector<Network>> OverlayKeeper::Networks() {
  unlisted_.clear();
  listed_all_ = false;
  if (!wish_.base_network && !list_all_) return client_.Networks(wish_.name);
  absl::StatusOr<std::vector<Network>> all = client_.Networks();
  listed_all_ = all.ok();
  if (all.ok() || client_.ServiceGone(all.status())) return all;
  list_all_ = false;
  unlisted_ = all.status().message();
  return client_.Networks(wish_.name);
}

// What the journal holds beside our network: the base network, and what an earlier wish made.
void OverlayKeeper::LookAtOthers(std::span<const Network> networks, TimePoint now) {
  for (const JournalEntry& entry : journal_->Entries(Kind::kNetwork)) {
    if (entry.name == wish_.name) continue;
    absl::StatusOr<std::vector<Network>> named;
    if (!listed_all_) {
      named = client_.Networks(entry.name);
      if (!named.ok()) continue;
    }
    const Network* found = nullptr;
    for (const Network& network : listed_all_ ? networks : std::span<const Network>(*named)) {
      if (network.name == entry.name && (found == nullptr || network.id == entry.id))
        found = &network;
    }
    if (found == nullptr) {
      const auto [since, first] = missing_since_.try_emplace(entry.name, now);
      if (first || now - since->second < kForgetAfter) continue;
      missing_since_.erase(since);
      journal_->Gone(Kind::kNetwork, entry.name);
      continue;
    }
    missing_since_.erase(entry.name);
    journal_->Stands({Kind::kNetwork, entry.name, ShapeOf(*found)}, found->id);
    const FormerNetwork former{found->id, entry.name};
    if (entry.made && entry.id == found->id && entry.name != kBaseNetworkName &&
        std::find(former_.begin(), former_.end(), former) == former_.end())
      former_.push_back(former);
  }
}

// Pods of another PodCIDR than ours now go by themselves, once the kubelet has seen that their
// Node is another one: those that run are given the time, and no more, as nothing reaches them.
OverlayKeeper::MaybeWait OverlayKeeper::AwaitPods(const NetworkPlan& plan,
                                                  std::span<const Endpoint> endpoints,
                                                  TimePoint now) {
  const auto pods = std::count_if(endpoints.begin(), endpoints.end(), [&](const Endpoint& each) {
    return each.network == plan.existing->id && !each.is_remote() &&
           !each.compartment_namespace.is_zero();
  });
  if (pods == 0) {
    pods_since_.reset();
    return std::nullopt;
  }
  if (!pods_since_) pods_since_ = now;
  if (now - *pods_since_ >= kPodsTime) return std::nullopt;
  ForgetNetwork();
  reading_.reset();
  return Wait{
      OverlayState::kNetwork,
      absl::StrCat(plan.reason, ", but ", pods,
                   pods == 1 ? " pod of another PodCIDR runs" : " pods of another PodCIDR run",
                   " in it: it is replaced once they are gone, or after ",
                   std::chrono::duration_cast<std::chrono::minutes>(kPodsTime).count(), " minutes"),
      kPodsPeriod};
}

// A network for this desired state, since the system started: one that is read back otherwise, or
// in whose place another program puts its own, is not deleted without end.
bool OverlayKeeper::WasMade() {
  const std::string shape = ShapeOf(OverlayNetwork(wish_));
  return made_shape_ == shape || journal_->MadeThisBoot({Kind::kNetwork, wish_.name, shape});
}

absl::StatusOr<OpenedNetwork> OverlayKeeper::MakeNetwork(const Network& document) {
  const JournalObject object{Kind::kNetwork, document.name, ShapeOf(document)};
  return CreateEntered(*journal_, object, [&] { return client_.Create(document); });
}

std::string OverlayKeeper::BaseTrouble(std::span<const Network> networks) {
  if (!wish_.base_network || wish_.name == kBaseNetworkName) return {};
  std::string trouble;
  for (const Network& network : networks) {
    if (!KeepsTheSwitch(wish_, network)) continue;
    Network asked = network;
    client_.AskSchema1(asked).IgnoreError();
    std::string why = BaseNetworkTrouble(wish_, asked);
    if (why.empty()) return {};  // one is enough
    if (trouble.empty()) trouble = std::move(why);
  }
  return trouble;
}

OverlayKeeper::MaybeWait OverlayKeeper::PutBase(const NetworkPlan& plan,
                                                std::span<const Network> networks, TimePoint now) {
  if (!plan.base) {
    base_ = Extra();
    base_.note = BaseTrouble(networks);
    return std::nullopt;
  }
  if (base_.again && now < *base_.again) return std::nullopt;
  if (!unlisted_.empty()) {
    base_.note =
        absl::StrCat("whether a network keeps the vSwitch over reboots is not known: ", unlisted_);
    base_.again = now + base_.delay.Next();
    return std::nullopt;
  }
  absl::StatusOr<OpenedNetwork> opened = MakeNetwork(*plan.base);
  if (opened.ok()) {
    base_ = Extra();
    if (const auto read = opened->Read(); read.ok()) {
      base_id_ = read->id;
      journal_->Stands({Kind::kNetwork, read->name, ShapeOf(*read)}, read->id);
    }
    return std::nullopt;
  }
  if (client_.ServiceGone(opened.status())) return Failed(OverlayState::kHns, opened.status());
  base_.note = absl::StrCat("the vSwitch may not outlive a reboot: ", opened.status().message());
  base_.again = now + base_.delay.Next();
  return std::nullopt;
}

OverlayKeeper::MaybeWait OverlayKeeper::Adopt(const Network& network) {
  if (!network_ || !reading_ || reading_->id != network.id) {
    network_.reset();
    absl::StatusOr<OpenedNetwork> opened = client_.Open(network);
    if (!opened.ok()) return Failed(OverlayState::kNetwork, opened.status());
    network_ = *std::move(opened);
    if (!reading_ || reading_->id != network.id) writer_ = RouteWriter(clock_);
  }
  reading_ = network;
  assumed_ = made_ == network.id ? "" : Assumed(wish_, network);
  EnterStanding(network);
  looked_ = true;
  stale_ = written_ = planned_ = false;
  return std::nullopt;
}

// In the shape in which we made it, if we did: HNS may show less of it.
void OverlayKeeper::EnterStanding(const Network& network) {
  const bool created = std::exchange(creating_, false);
  if (created) made_ = network.id;
  journal_->Stands({Kind::kNetwork, network.name, created ? made_shape_ : ShapeOf(network)},
                   network.id);
}

OverlayKeeper::MaybeWait OverlayKeeper::Replace(const NetworkPlan& plan) {
  network_.reset();
  reading_.reset();
  const absl::Status status = client_.DeleteNetwork(plan.existing->id, plan.existing->name);
  if (!status.ok()) return Failed(OverlayState::kNetwork, status);
  journal_->Gone(Kind::kNetwork, plan.existing->name);
  replaced_ = plan.reason;
  return Create(plan);
}

absl::StatusOr<OpenedNetwork> OverlayKeeper::MakeByAnyWay(const NetworkPlan& plan) {
  const std::vector<std::vector<Policy>> ways = AdapterWays(wish_);
  absl::StatusOr<OpenedNetwork> opened = MakeNetwork(plan.document);
  doubt_.Hear(opened.status(), clock_());
  for (std::size_t tried = 1; tried < ways.size() && IsAboutAdapter(opened.status()); ++tried) {
    adapter_way_ = (adapter_way_ + 1) % ways.size();
    if (ways[adapter_way_].empty() && !doubt_.MayLetHnsChoose(clock_())) continue;
    opened = MakeNetwork(OverlayNetwork(wish_, adapter_way_));
    doubt_.Hear(opened.status(), clock_());
  }
  return opened;
}

OverlayKeeper::MaybeWait OverlayKeeper::Create(const NetworkPlan& plan) {
  network_.reset();
  absl::StatusOr<OpenedNetwork> opened = MakeByAnyWay(plan);
  if (!opened.ok()) {
    adapter_way_ = 0;
    if (IsAboutAdapter(opened.status()) && !wish_.ambiguous.empty())
      return Failed(OverlayState::kNetwork, opened.status(), absl::StrCat("; ", wish_.ambiguous));
    if (auto wait = MakeRoom(opened.status())) {
      doubt_ = AdapterDoubt();
      return wait;
    }
    list_all_ = HresultOf(opened.status()) == hresult::kNetworkAlreadyExists;
    return Failed(OverlayState::kNetwork, opened.status(), CreateHint(opened.status(), wish_));
  }
  network_ = *std::move(opened);
  writer_ = RouteWriter(clock_);
  made_shape_ = ShapeOf(plan.document);
  assumed_.clear();
  without_adapter_since_.reset();
  adapter_given_up_ = false;
  if (adapter_there_) adapter_there_ = false;  // what was there before tells nothing
  creating_ = looked_ = stale_ = true;
  return std::nullopt;
}

}  // namespace weft::hns
