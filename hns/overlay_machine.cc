// SPDX-License-Identifier: Apache-2.0
#include "hns/overlay_machine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hns/api/hresult.h"

namespace weft::hns {
namespace {

// Limits of one Round, so that its caller sees progress.
constexpr std::size_t kBatchesInRound = 64;
constexpr Duration kBatchesTime = std::chrono::seconds(5);
// As long as upstream waits for the host's interface.
constexpr Duration kAdapterTime = std::chrono::seconds(45);

}  // namespace

OverlayMachine::OverlayMachine(OverlaySpec spec, std::shared_ptr<ObjectLedger> ledger,
                               RouteWriter::Clock clock, std::shared_ptr<DesiredRoutes> routes)
    : ledger_(OrNone(std::move(ledger))),
      spec_(std::move(spec)),
      routes_(routes ? std::move(routes) : std::make_shared<DesiredRoutes>()),
      clock_(std::move(clock)) {}

void OverlayMachine::SetSpec(const OverlaySpec& spec) {
  if (spec == spec_) return;
  if (spec.name != spec_.name) MoveToFormer(spec.name);
  spec_ = spec;
  synced_ = Synced();
  recreation_ = Recreation();
  Forget();
  reading_.reset();
  adapter_.Forget();
  base_ = Extra();
  address_again_.reset();
  address_delay_.Reset();
}

void OverlayMachine::RoutesChanged() { KnowAtMost(written_ ? Known::kNetwork : Known::kReading); }

void OverlayMachine::OnServiceGone() {
  Forget();
  version_.reset();
  former_inspected_ = false;
  writer_ = RouteWriter();
  base_.again.reset();
  host_route_.again.reset();
}

void OverlayMachine::SetAdapterPresent(bool present) {
  adapter_present_ = present;
  if (!present) return;
  without_adapter_since_.reset();
  adapter_given_up_ = false;
}

void OverlayMachine::Recheck() {
  known_ = Known::kNothing;
  former_inspected_ = false;
}

// reading_ stays: the outcome shows the last read.
void OverlayMachine::Forget() {
  open_ = false;
  known_ = Known::kNothing;
}

Sequence<absl::StatusOr<Drift>> OverlayMachine::Inspect() {
  const DesiredRoutes::Content desired = routes_->Copy();
  absl::StatusOr<OverlayInspection> inspection = co_await InspectOverlay(
      spec_, desired.routes, desired.may_remove, ledger_->Objects(Kind::kNetwork));
  if (!inspection.ok()) co_return inspection.status();
  if (NetworkPlan& plan = inspection->network;
      plan.action == NetworkAction::kRecreate && WasMade()) {
    plan.action = NetworkAction::kRefuse;
    absl::StrAppend(&plan.reason, kNotReplacedAgain);
  }
  Drift drift = DriftOf(*inspection, spec_);
  if (!drift.refused.empty()) co_return drift;
  const absl::Status status = co_await InspectFormers(drift);
  if (!status.ok()) co_return status;
  co_return drift;
}

Sequence<Nothing> OverlayMachine::ReadSourceVip() {
  if (!reading_) co_return Nothing();
  std::vector<Unread> unread;
  const absl::StatusOr<std::vector<Endpoint>> endpoints =
      co_await call::Endpoints(reading_->id, &unread);
  if (!endpoints.ok()) co_return Nothing();
  for (const Endpoint& endpoint : *endpoints) {
    if (!endpoint.is_source_vip()) continue;
    for (const IpConfiguration& each : endpoint.ip_configurations)
      if (spec_.subnet.Contains(each.address)) source_vip_ = each.address;
  }
  source_vip_known_ = source_vip_ || unread.empty();
  co_return Nothing();
}

Sequence<OverlayOutcome> OverlayMachine::Round(TimePoint now) {
  const Wait wait = co_await Work(now);
  if (!open_) co_await call::Close();
  if (!wait.failure) failures_.Reset();
  if (!written_ && reading_ && reading_->Has(policy_type::kHostRoute)) {
    host_route_ = Extra();
    if (synced_.host_route.Found(true))
      repairs_->Add(Repairs::Kind::kHostRoute, 1, absl::StrCat("HostRoute of ", spec_.name), now);
  }
  OverlayOutcome outcome;
  outcome.state = wait.state;
  outcome.sentence = wait.sentence;
  if (reading_) {
    outcome.network_id = reading_->id;
    outcome.made = made_ == reading_->id;
    outcome.management_ip = reading_->provider_address();
    outcome.dr_mac = reading_->dr_mac();
  }
  outcome.base_network_id = base_id_;
  outcome.former = former_;
  outcome.desired = known_ == Known::kPlan ? desired_ : routes_->size();
  if (known_ == Known::kPlan) outcome.applied = in_sync_;
  outcome.pending = writer_.Pending();
  outcome.refused = writer_.refused_additions();
  outcome.refused_removals = writer_.refused_removals();
  outcome.notes = Notes();
  outcome.awaits_adapter = without_adapter_since_.has_value();
  outcome.source_vip_known = source_vip_known_ || outcome.made;
  outcome.source_vip = source_vip_;
  WatchAddress(now);
  const auto call_at = [&](TimePoint at) {
    outcome.next = outcome.next ? std::min(*outcome.next, at) : at;
  };
  if (wait.again) call_at(now + *wait.again);
  // If this Round did not get that far these are due at once.
  const bool found = known_ != Known::kNothing;
  if (found && base_.again) call_at(*base_.again);
  if (found && address_again_) call_at(*address_again_);
  if (wait.state >= OverlayState::kRoutes && host_route_.again) call_at(*host_route_.again);
  co_return outcome;
}

Sequence<OverlayMachine::Wait> OverlayMachine::Work(TimePoint now) {
  if (base_.again && now >= *base_.again) known_ = Known::kNothing;
  if (known_ == Known::kNothing)
    if (auto wait = co_await FindNetwork(now)) co_return *wait;
  if (address_again_ && now >= *address_again_) KnowAtMost(Known::kNetwork);
  if (known_ == Known::kNetwork)
    if (auto wait = co_await Read()) co_return *wait;
  if (auto wait = AwaitManagementIp(now)) co_return *wait;
  if (auto wait = co_await PutHostRoute(now)) co_return *wait;
  const Wait wait = co_await WriteRoutes(now);
  if (wait.state == OverlayState::kInSync && !former_inspected_)
    if (auto failed = co_await RemoveFormers()) co_return *failed;
  co_return wait;
}

void OverlayMachine::WatchAddress(TimePoint now) {
  const auto ip = reading_ ? reading_->provider_address() : std::nullopt;
  if (!ip || *ip == spec_.node_address) {
    address_again_.reset();
  } else if (!address_again_ || now >= *address_again_) {
    address_again_ = now + address_delay_.Next();
  }
}

Sequence<OverlayMachine::MaybeWait> OverlayMachine::Read() {
  absl::StatusOr<Network> read = co_await call::Read();
  if (!read.ok()) co_return co_await Failed(OverlayState::kNetwork, read.status());
  reading_ = *std::move(read);
  known_ = Known::kReading;
  written_ = false;
  if (Differences(spec_, *reading_).empty()) {
    ConfirmInLedger(*reading_);
    co_return std::nullopt;
  }
  if (std::exchange(creating_, false)) made_ = reading_->id;
  co_return co_await Failed(
      OverlayState::kNetwork,
      absl::FailedPreconditionError(absl::StrCat("the HNS network ", spec_.name, " was changed")));
}

OverlayMachine::MaybeWait OverlayMachine::AwaitManagementIp(TimePoint now) {
  const auto ip = reading_->provider_address();
  const bool usable = ip && (!ip->IsLinkLocal() || *ip == spec_.node_address);
  if (usable && reading_->dr_mac()) {
    without_ip_since_.reset();
    return std::nullopt;
  }
  if (!without_ip_since_) without_ip_since_ = now;
  KnowAtMost(Known::kNetwork);
  const std::string none = ip && !usable ? absl::StrCat(" (", ip->ToString(), " is none)") : "";
  return Wait{OverlayState::kManagementIp,
              AwaitsText(spec_.name, usable ? "router MAC" : absl::StrCat("management IP", none),
                         now - *without_ip_since_),
              kManagementIpPeriod};
}

OverlayMachine::MaybeWait OverlayMachine::AwaitAdapter(TimePoint now) {
  if (adapter_given_up_ || adapter_present_.value_or(true)) return std::nullopt;
  if (!without_adapter_since_) without_adapter_since_ = now;
  const Duration waited = now - *without_adapter_since_;
  adapter_given_up_ = waited >= kAdapterTime;
  if (adapter_given_up_) return std::nullopt;
  return Wait{
      OverlayState::kManagementIp,
      absl::StrCat("no adapter has ", reading_->provider_address()->ToString(),
                   ", the management IP of the network ", spec_.name, ", yet: HNS is creating it"),
      kAdapterTime - waited};
}

Sequence<OverlayMachine::MaybeWait> OverlayMachine::PutHostRoute(TimePoint now) {
  if (reading_->Has(policy_type::kHostRoute)) co_return std::nullopt;
  if (auto wait = AwaitAdapter(now)) co_return wait;
  if (host_route_.again && now < *host_route_.again) co_return std::nullopt;
  std::vector<Policy> added(1, HostRoutePolicy());
  const absl::Status status = co_await call::Add(std::move(added));
  if (!status.ok()) {
    const auto code = HresultOf(status);
    // "Not found" may mean the network. If the network is found again, it meant something else.
    const bool lost = code && IsNotFound(*code) && not_found_ != reading_->id;
    if (lost) not_found_ = reading_->id;
    const bool gone = code && !lost && co_await call::IsGone(status);
    if (!code || lost || gone) co_return co_await Failed(OverlayState::kNetwork, status);
  }
  if (status.ok()) synced_.host_route.Found(false);
  host_route_.again = now + host_route_.delay.Next();
  host_route_.note =
      absl::StrCat("this node may not reach its own pods, HostRoute is missing: ",
                   status.ok() ? "HNS accepted it but does not show it" : status.message());
  written_ = true;
  // HNS may have applied the refused change.
  if (!status.ok()) co_return co_await Read();
  reading_->policies.push_back(HostRoutePolicy());  // until the next read
  co_return std::nullopt;
}

Sequence<OverlayMachine::Wait> OverlayMachine::WriteRoutes(TimePoint now) {
  if (!routes_->known()) {
    co_return Wait{OverlayState::kRoutes, "the network exists; the peers are not known yet"};
  }
  if (writer_.next() && now >= *writer_.next()) RoutesChanged();
  const TimePoint begin = clock_();
  for (std::size_t batches = 0;;) {
    if (known_ == Known::kNetwork)
      if (auto wait = co_await Read()) co_return *wait;
    if (known_ == Known::kReading) Plan(now);
    if (!writer_.has_work()) {
      if (!written_) break;
      KnowAtMost(Known::kNetwork);  // read it back
      continue;
    }
    if (++batches > kBatchesInRound || clock_() - begin > kBatchesTime) {
      co_return Wait{OverlayState::kRoutes,
                     absl::StrCat("routes to ", desired_, " peers are being written"),
                     Duration::zero()};
    }
    written_ = true;
    const absl::Status status = co_await writer_.WriteBatch(now, clock_);
    if (status.ok()) {
      if (writer_.needs_read()) KnowAtMost(Known::kNetwork);
      continue;
    }
    const auto code = HresultOf(status);
    const bool lost = !code || IsNotFound(*code) || co_await call::IsGone(status);
    if (lost) co_return co_await Failed(OverlayState::kRoutes, status);
    KnowAtMost(Known::kNetwork);
  }
  const std::vector<std::string> pending = writer_.Pending();
  if (pending.empty()) {
    synced_.version = planned_version_;
    if (const auto lost = std::exchange(synced_.lost_routes, {}); !lost.empty()) {
      std::string what = absl::StrCat("the route to ", lost.front().ToString());
      if (lost.size() > 1) absl::StrAppend(&what, " and ", lost.size() - 1, " more");
      absl::StrAppend(&what, " of ", spec_.name);
      repairs_->Add(Repairs::Kind::kRoute, lost.size(), std::move(what), now);
    }
    co_return Wait{OverlayState::kInSync,
                   absl::StrCat("the HNS network ", spec_.name, " has ", desired_,
                                desired_ == 1 ? " route" : " routes")};
  }
  co_return Wait{OverlayState::kRoutes,
                 absl::StrCat("HNS has ", in_sync_, " of ", desired_, " routes and refuses ",
                              pending.size(), pending.size() == 1 ? " change" : " changes",
                              ", which will be retried: ", pending.front()),
                 writer_.next() ? std::optional(*writer_.next() - now) : std::nullopt};
}

void OverlayMachine::Plan(TimePoint now) {
  const DesiredRoutes::Content desired = routes_->Copy();
  RoutePlan plan =
      PlanRoutes(desired.routes, reading_->policies, spec_.isolation_id, desired.may_remove);
  if (synced_.version == desired.version && !plan.changes.empty()) {
    for (const RouteChange& change : plan.changes) {
      const auto destination = IpPrefix::Parse(change.destination);
      if (destination && change.addition) synced_.lost_routes.push_back(*destination);
    }
    synced_.version.reset();
  }
  std::erase_if(synced_.lost_routes,
                [&](const IpPrefix& lost) { return !desired.routes.contains(lost); });
  planned_version_ = desired.version;
  desired_ = desired.routes.size();
  in_sync_ = plan.in_sync;
  writer_.SetPlan(std::move(plan), now);
  known_ = Known::kPlan;
}

Sequence<OverlayMachine::Wait> OverlayMachine::Failed(OverlayState state, absl::Status status,
                                                      std::string hint) {
  const bool gone = co_await call::IsGone(status);
  if (gone) {
    OnServiceGone();
    state = OverlayState::kHns;
  } else {
    Forget();
  }
  co_return Wait{state, absl::StrCat(gone ? "HNS does not answer: " : "", status.message(), hint),
                 failures_.Next(), true};
}

std::vector<std::string> OverlayMachine::Notes() const {
  std::vector<std::string> notes;
  if (!replaced_.empty()) notes.push_back(absl::StrCat("re-created: ", replaced_));
  if (!base_.note.empty()) notes.push_back(base_.note);
  notes.insert(notes.end(), former_notes_.begin(), former_notes_.end());
  if (!reading_) return notes;
  if (!assumed_.empty()) notes.push_back(assumed_);
  if (adapter_given_up_) {
    notes.push_back(absl::StrCat("no adapter has the management IP of the network ", spec_.name,
                                 ": HostRoute was added without it after a wait of ",
                                 kAdapterTime / std::chrono::seconds(1), " s"));
  }
  if (!host_route_.note.empty() && !reading_->Has(policy_type::kHostRoute))
    notes.push_back(host_route_.note);
  const std::string adapter = reading_->adapter_name(), desired = PhysicalAdapter(spec_.adapter);
  // HNS found the adapter by the node's address, so its name does not matter.
  const bool by_address = spec_.by_address && reading_->provider_address() == spec_.node_address;
  if (!adapter.empty() && !desired.empty() && !by_address && !IsAdapterOf(spec_, adapter)) {
    notes.push_back(absl::StrCat("the HNS network ", spec_.name, " is on the adapter ", adapter,
                                 ", not on ", desired));
  }
  const auto ip = reading_->provider_address();
  if (ip && *ip != spec_.node_address) {
    notes.push_back(absl::StrCat("HNS sends from ", ip->ToString(), ", but this node's address is ",
                                 spec_.node_address.ToString(), ": if the adapter of the network ",
                                 spec_.name, " has both, remove ", ip->ToString(),
                                 " there, and end what adds it (a load balancer's agent); if this "
                                 "node has lost ",
                                 ip->ToString(),
                                 ", drain and reboot it, so that HNS creates the network again"));
  }
  return notes;
}

}  // namespace weft::hns
