// SPDX-License-Identifier: Apache-2.0
// The part of OverlayMachine that finds and creates the network and removes networks of earlier
// specs.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hns/api/hresult.h"
#include "hns/base_network.h"
#include "hns/overlay_machine.h"

namespace weft::hns {
namespace {

// HNS restores persistent networks a while after it answers.
constexpr Duration kForgetAfter = std::chrono::minutes(10);
// How long a network is kept for pods of an earlier PodCIDR, and how often they are counted.
constexpr Duration kPodsTime = std::chrono::minutes(5);
constexpr Duration kPodsPeriod = std::chrono::seconds(2);

// Explains a refused create to an operator. The networks were listed just before.
std::string CreateHint(const absl::Status& status, const OverlaySpec& spec) {
  switch (HresultOf(status).value_or(hresult::kOk)) {
    case hresult::kElementNotFound:
    case hresult::kUnspecified:
      return "; HNS may still be finishing a delete; flanneld retries";
    case hresult::kNetworkAlreadyExists:
      return absl::StrCat(
          "; HNS reports that the name ", spec.name,
          " is taken but did not list it: created just now, or left over from a "
          "delete; flanneld lists again; if this stays, restart the service hns; if "
          "that does not help, reboot this node");
    case hresult::kAdapterNotFound:
      return absl::StrCat("; the requested adapter is \"", PhysicalAdapter(spec.adapter),
                          "\" (--iface)");
    default:
      return {};
  }
}

}  // namespace

Sequence<OverlayMachine::MaybeWait> OverlayMachine::FindNetwork(TimePoint now) {
  if (!open_) co_await call::Close();
  if (!version_) {
    const absl::StatusOr<Version> version = co_await call::Version();
    if (!version.ok()) co_return co_await Failed(OverlayState::kHns, version.status());
    version_ = *version;
  }
  absl::StatusOr<Listing> listed = co_await List();
  if (!listed.ok()) co_return co_await Failed(OverlayState::kHns, listed.status());
  Listing listing = *std::move(listed);
  listing.networks =
      co_await FillUnshown(spec_, ledger_->Objects(Kind::kNetwork), std::move(listing.networks));
  std::vector<Endpoint> endpoints;
  const Network* const existing = FindOverlay(spec_, listing.networks);
  const bool right = existing != nullptr && Differences(spec_, *existing).empty();
  recreation_.Found(existing != nullptr, right, now);
  if (existing == nullptr) {
    reading_.reset();
  } else if (!right) {
    absl::StatusOr<std::vector<Endpoint>> found = co_await call::Endpoints(existing->id);
    if (!found.ok()) co_return co_await Failed(OverlayState::kNetwork, found.status());
    endpoints = *std::move(found);
  }
  const NetworkPlan plan =
      PlanNetwork(spec_, *version_, listing.networks, endpoints, adapter_.candidate());
  if (plan.action == NetworkAction::kRefuse) {
    version_.reset();  // an update of Windows may change it
    co_return Refused(plan.reason);
  }
  if (plan.action == NetworkAction::kRecreate && WasMade())
    co_return Refused(absl::StrCat(plan.reason, kNotReplacedAgain));
  if (plan.action != NetworkAction::kRecreate)
    pods_since_.reset();
  else if (auto wait = AwaitPods(plan, endpoints, now))
    co_return wait;
  if (recreation_.IsAwaited(now)) co_return recreation_.Awaits<OverlayState>(spec_.name, now);
  co_await InspectLedger(listing, now);
  if (auto wait = co_await PutBase(plan, listing, now)) co_return wait;
  if (plan.action == NetworkAction::kAdopt) co_return co_await Adopt(*plan.existing);
  if (plan.action == NetworkAction::kRecreate) co_return co_await Replace(plan);
  co_return co_await Create(plan);
}

OverlayMachine::Wait OverlayMachine::Refused(std::string reason) {
  Forget();
  reading_.reset();
  return {OverlayState::kNetwork, std::move(reason), kRefusalPeriod};
}

// All networks only if needed, because a foreign one that cannot be read fails the list.
Sequence<absl::StatusOr<OverlayMachine::Listing>> OverlayMachine::List() {
  Listing listing;
  if (spec_.base_network || list_all_) {
    absl::StatusOr<std::vector<Network>> all = co_await call::Networks();
    if (all.ok()) {
      listing.networks = *std::move(all);
      listing.all = true;
      co_return listing;
    }
    if (co_await call::IsGone(all.status())) co_return all.status();
    list_all_ = false;
    listing.unlisted = all.status().message();
  }
  absl::StatusOr<std::vector<Network>> named = co_await call::Networks(spec_.name);
  if (!named.ok()) co_return named.status();
  listing.networks = *std::move(named);
  co_return listing;
}

// Inspects the ledger's other networks: the base network and those of earlier specs.
Sequence<Nothing> OverlayMachine::InspectLedger(const Listing& listing, TimePoint now) {
  co_await ConfirmIntended(*ledger_, spec_.name);
  for (const KnownObject& entry : ledger_->Objects(Kind::kNetwork)) {
    if (entry.name == spec_.name) continue;
    absl::StatusOr<std::vector<Network>> named;
    if (!listing.all) {
      named = co_await call::Networks(entry.name);
      if (!named.ok()) continue;
    }
    const Network* found = nullptr;
    for (const Network& network : listing.all ? listing.networks : *named) {
      if (network.name == entry.name && (found == nullptr || network.id == entry.id))
        found = &network;
    }
    if (found == nullptr) {
      const auto [since, first] = missing_since_.try_emplace(entry.name, now);
      if (first || now - since->second < kForgetAfter) continue;
      missing_since_.erase(since);
      ledger_->Forget(Kind::kNetwork, entry.name);
      continue;
    }
    missing_since_.erase(entry.name);
    ledger_->Confirm({Kind::kNetwork, entry.name, ShapeOf(*found)}, found->id);
    const FormerNetwork former{found->id, entry.name};
    if (entry.made && entry.id == found->id && entry.name != kBaseNetworkName &&
        std::find(former_.begin(), former_.end(), former) == former_.end())
      former_.push_back(former);
  }
  co_return Nothing();
}

// Pods of an earlier PodCIDR end by themselves once the kubelet has seen that the Node was
// re-created. They get kPodsTime and no more, since no traffic reaches them.
OverlayMachine::MaybeWait OverlayMachine::AwaitPods(const NetworkPlan& plan,
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
  Wait wait = Refused(absl::StrCat(
      plan.reason, ", but ", pods,
      pods == 1 ? " pod of another PodCIDR runs" : " pods of another PodCIDR run",
      " in it: it is replaced once they are gone, or after ",
      std::chrono::duration_cast<std::chrono::minutes>(kPodsTime).count(), " minutes"));
  wait.again = kPodsPeriod;
  return wait;
}

// Whether we created a network for this spec since the system started. If so it is not replaced
// again: HNS may show it differently, or another program may replace it each time.
bool OverlayMachine::WasMade() {
  const std::string shape = ShapeOf(OverlayNetwork(spec_));
  return made_shape_ == shape || ledger_->MadeThisBoot({Kind::kNetwork, spec_.name, shape});
}

Sequence<absl::Status> OverlayMachine::MakeNetwork(Network document) {
  LedgerObject object{Kind::kNetwork, document.name, ShapeOf(document)};
  return CreateIntended(*ledger_, std::move(object), call::Create(std::move(document)));
}

Sequence<std::string> OverlayMachine::BaseCondition(const Listing& listing) {
  std::string condition;
  if (!spec_.base_network || spec_.name == kBaseNetworkName) co_return condition;
  for (const Network& network : listing.networks) {
    if (!IsBaseNetwork(spec_, network)) continue;
    const Network shown = co_await call::Schema1(network);
    std::string why = BaseNetworkCondition(spec_, shown);
    if (why.empty()) co_return why;  // one is enough
    if (condition.empty()) condition = std::move(why);
  }
  co_return condition;
}

Sequence<OverlayMachine::MaybeWait> OverlayMachine::PutBase(const NetworkPlan& plan,
                                                            const Listing& listing, TimePoint now) {
  if (!plan.base) {
    base_ = Extra();
    base_.note = co_await BaseCondition(listing);
    co_return std::nullopt;
  }
  if (base_.again && now < *base_.again) co_return std::nullopt;
  if (!listing.unlisted.empty()) {
    base_.note = absl::StrCat("whether a network keeps the vSwitch across reboots is not known: ",
                              listing.unlisted);
    base_.again = now + base_.delay.Next();
    co_return std::nullopt;
  }
  open_ = false;  // the create opens the base network instead
  const absl::Status status = co_await MakeNetwork(*plan.base);
  if (status.ok()) {
    base_ = Extra();
    const absl::StatusOr<Network> read = co_await call::Read();
    if (read.ok()) {
      base_id_ = read->id;
      ledger_->Confirm({Kind::kNetwork, read->name, ShapeOf(*read)}, read->id);
    }
    co_await call::Close();
    co_return std::nullopt;
  }
  if (co_await call::IsGone(status)) co_return co_await Failed(OverlayState::kHns, status);
  base_.note = absl::StrCat("the vSwitch may not outlive a reboot: ", status.message());
  base_.again = now + base_.delay.Next();
  co_return std::nullopt;
}

Sequence<OverlayMachine::MaybeWait> OverlayMachine::Adopt(const Network& network) {
  if (!open_ || !reading_ || reading_->id != network.id) {
    open_ = false;
    const absl::Status opened = co_await call::Open(network);
    if (!opened.ok()) co_return co_await Failed(OverlayState::kNetwork, opened);
    open_ = true;
    if (!reading_ || reading_->id != network.id) writer_ = RouteWriter();
  }
  reading_ = network;
  assumed_ = made_ == network.id ? "" : Assumed(spec_, network);
  ConfirmInLedger(network);
  known_ = Known::kReading;
  written_ = false;
  co_return std::nullopt;
}

// With the shape in which we created it, if we did: HNS may show less of it.
void OverlayMachine::ConfirmInLedger(const Network& network) {
  const bool created = std::exchange(creating_, false);
  if (created) made_ = network.id;
  ledger_->Confirm({Kind::kNetwork, network.name, created ? made_shape_ : ShapeOf(network)},
                   network.id);
}

Sequence<OverlayMachine::MaybeWait> OverlayMachine::Replace(const NetworkPlan& plan) {
  open_ = false;
  co_await call::Close();
  reading_.reset();
  recreation_.Deleted();  // also if the answer is lost
  const absl::Status status = co_await call::Delete(plan.existing->id, plan.existing->name);
  if (!status.ok()) co_return co_await Failed(OverlayState::kNetwork, status);
  ledger_->Forget(Kind::kNetwork, plan.existing->name);
  replaced_ = plan.reason;
  co_return co_await Create(plan);
}

Sequence<OverlayMachine::MaybeWait> OverlayMachine::Create(const NetworkPlan& plan) {
  open_ = false;
  const std::vector<std::vector<Policy>> candidates = AdapterCandidates(spec_);
  const auto create = [&](std::size_t candidate) {
    return MakeNetwork(OverlayNetwork(spec_, candidate));
  };
  const absl::Status created = co_await adapter_.Try(candidates, create, clock_);
  if (!created.ok()) {
    adapter_.StartOver();
    if (IsAboutAdapter(created) && !spec_.ambiguous.empty())
      co_return co_await Failed(OverlayState::kNetwork, created,
                                absl::StrCat("; ", spec_.ambiguous));
    if (auto wait = co_await MakeRoom(created)) {
      adapter_.Forget();
      co_return wait;
    }
    list_all_ = HresultOf(created) == hresult::kNetworkAlreadyExists;
    co_return co_await Failed(OverlayState::kNetwork, created, CreateHint(created, spec_));
  }
  open_ = true;
  synced_ = Synced();  // what it had before went with it
  if (recreation_.Created(clock_()))
    repairs_->Add(Repairs::Kind::kNetwork, 1, absl::StrCat("the network ", spec_.name), clock_());
  writer_ = RouteWriter();
  made_shape_ = ShapeOf(plan.document);
  assumed_.clear();
  without_adapter_since_.reset();
  adapter_given_up_ = false;
  if (adapter_present_) adapter_present_ = false;  // it was about the previous network
  creating_ = true;
  known_ = Known::kNetwork;
  co_return std::nullopt;
}

void OverlayMachine::SetFormer(std::vector<FormerNetwork> made) {
  former_ = std::move(made);
  former_inspected_ = false;
}

// Called when the spec gets the name `name`. The network of the old name becomes a former one; a
// former one of the new name becomes ours again.
void OverlayMachine::MoveToFormer(const std::string& name) {
  if (made_) former_.push_back({*made_, spec_.name});
  made_.reset();
  const auto again = std::find_if(former_.begin(), former_.end(),
                                  [&](const FormerNetwork& each) { return each.name == name; });
  if (again != former_.end()) {
    made_ = again->id;
    former_.erase(again);
  }
  former_inspected_ = false;
}

// Adds to `drift` what RemoveFormers would do.
Sequence<absl::Status> OverlayMachine::InspectFormers(Drift& drift) {
  std::vector<KnownObject> endpoints;
  if (!former_.empty()) endpoints = ledger_->Objects(Kind::kEndpoint);
  for (const FormerNetwork& former : former_) {
    const absl::StatusOr<FormerInspection> inspection = co_await InspectFormer(former, endpoints);
    if (!inspection.ok()) co_return inspection.status();
    if (!inspection->exists || !inspection->local_endpoints.empty()) continue;
    drift.Add(absl::StrCat("the network ", former.name, ", made for an earlier net-conf,"),
              "still exists");
    for (const KnownObject& own : inspection->own)
      drift.calls.push_back({absl::StrCat("delete the endpoint ", own.name), ""});
    drift.calls.push_back({absl::StrCat("delete the network ", former.name, " (",
                                        former.id.ToString(), "), made for an earlier net-conf"),
                           ""});
  }
  co_return absl::OkStatus();
}

// Empty: every former network that can be deleted is. A refusal becomes a note and is retried after
// the next Recheck.
Sequence<OverlayMachine::MaybeWait> OverlayMachine::RemoveFormers() {
  former_inspected_ = true;
  former_notes_.clear();
  std::vector<KnownObject> endpoints;
  if (!former_.empty()) endpoints = ledger_->Objects(Kind::kEndpoint);
  for (std::size_t i = former_.size(); i-- > 0;) {
    const FormerNetwork former = former_[i];
    if (!reading_ || former.id != reading_->id) {
      const FormerRemoval removal = co_await RemoveFormer(*ledger_, former, endpoints);
      if (!removal.existed) ledger_->Forget(Kind::kNetwork, former.name);
      if (!removal.status.ok() && co_await call::IsGone(removal.status))
        co_return co_await Failed(OverlayState::kHns, removal.status);
      if (!removal.note.empty()) {
        former_notes_.push_back(removal.note);
        continue;
      }
    }
    former_.erase(former_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  co_return std::nullopt;
}

// After a refused create: HNS may refuse a second network with the same subnet or VSID, so former
// networks are deleted first. Empty: none was.
Sequence<OverlayMachine::MaybeWait> OverlayMachine::MakeRoom(const absl::Status& refusal) {
  if (!MayBeAboutAnotherNetwork(refusal)) co_return std::nullopt;
  const std::size_t before = former_.size();
  if (auto failed = co_await RemoveFormers()) co_return failed;
  former_inspected_ = false;
  if (former_.size() == before) co_return std::nullopt;
  co_return Wait{OverlayState::kNetwork,
                 absl::StrCat("the HNS network ", spec_.name,
                              " is created again, after the deletion of a network ",
                              "that may have conflicted: ", refusal.message()),
                 Duration::zero()};
}

}  // namespace weft::hns
