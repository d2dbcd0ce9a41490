// SPDX-License-Identifier: Apache-2.0
#include "hns/overlay_keeper.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hns/api/hresult.h"

namespace weft::hns {
namespace {

// So many batches, or so much time for them, in one Round, so that its caller sees
// progress.
constexpr std::size_t kBatchesInRound = 64;
constexpr Duration kBatchesTime = std::chrono::seconds(5);
// As upstream waits for the host's interface.
constexpr Duration kAdapterTime = std::chrono::seconds(45);

}  // namespace

OverlayKeeper::OverlayKeeper(Api& api, OverlayWish wish, std::shared_ptr<Journal> journal,
                             RouteWriter::Clock clock)
    : journal_(OrNone(std::move(journal))),
      client_(api),
      wish_(std::move(wish)),
      clock_(std::move(clock)) {}

void OverlayKeeper::SetWish(const OverlayWish& wish) {
  if (wish == wish_) return;
  if (wish.name != wish_.name) TurnFormer(wish.name);
  wish_ = wish;
  ForgetNetwork();
  reading_.reset();
  adapter_way_ = 0;
  doubt_ = AdapterDoubt();
  base_ = Extra();
  address_again_.reset();
  address_delay_.Reset();
}

void OverlayKeeper::SetRoutes(RemoteSubnetRoutes routes, bool may_remove) {
  wanted_ = std::move(routes);
  wanted_known_ = true;
  may_remove_ = may_remove_ || may_remove;
  RoutesChanged();
}

void OverlayKeeper::PutRoute(const RemoteSubnetRoute& route) {
  wanted_.insert_or_assign(route.destination, route);
  RoutesChanged();
}

void OverlayKeeper::EraseRoute(const IpPrefix& destination) {
  wanted_.erase(destination);
  RoutesChanged();
}

void OverlayKeeper::RoutesChanged() {
  planned_ = false;
  stale_ = stale_ || written_;
}

void OverlayKeeper::OnServiceGone() {
  ForgetNetwork();
  version_.reset();
  former_looked_ = false;
  writer_ = RouteWriter(clock_);
  base_.again.reset();
  host_route_.again.reset();
}

void OverlayKeeper::SetAdapterThere(bool there) {
  adapter_there_ = there;
  if (!there) return;
  without_adapter_since_.reset();
  adapter_given_up_ = false;
}

void OverlayKeeper::Recheck() { looked_ = former_looked_ = false; }

// Its facts stay: they are what was.
void OverlayKeeper::ForgetNetwork() {
  network_.reset();
  looked_ = false;
  planned_ = false;
}

absl::StatusOr<Drift> OverlayKeeper::Look() {
  absl::StatusOr<OverlayLook> look =
      LookAtOverlay(client_, wish_, wanted_, may_remove_, journal_->Entries(Kind::kNetwork));
  if (!look.ok()) return look.status();
  if (NetworkPlan& plan = look->network; plan.action == NetworkAction::kRecreate && WasMade()) {
    plan.action = NetworkAction::kRefuse;
    absl::StrAppend(&plan.reason, kNotAgain);
  }
  Drift drift = DriftOf(*look, wish_);
  if (!drift.refused.empty()) return drift;
  if (absl::Status status = LookAtFormers(drift); !status.ok()) return status;
  return drift;
}

OverlayOutcome OverlayKeeper::Round(TimePoint now) {
  const Wait wait = Work(now);
  if (!wait.failure) {
    failed_ = false;
    delay_.Reset();
  }
  if (!written_ && reading_ && reading_->Has(policy_type::kHostRoute)) host_route_ = Extra();
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
  outcome.desired = wanted_.size();
  if (looked_ && planned_) outcome.applied = standing_;
  outcome.pending = writer_.Pending();
  outcome.refused = writer_.refused_additions();
  outcome.refused_removals = writer_.refused_removals();
  outcome.notes = Notes();
  outcome.awaits_adapter = without_adapter_since_.has_value();
  WatchAddress(now);
  const auto call_at = [&](TimePoint at) {
    outcome.next = outcome.next ? std::min(*outcome.next, at) : at;
  };
  if (wait.again) call_at(now + *wait.again);
  // What this Round did not come to would be due already.
  if (looked_ && base_.again) call_at(*base_.again);
  if (looked_ && address_again_) call_at(*address_again_);
  if (wait.state >= OverlayState::kRoutes && host_route_.again) call_at(*host_route_.again);
  return outcome;
}

OverlayKeeper::Wait OverlayKeeper::Work(TimePoint now) {
  if (base_.again && now >= *base_.again) looked_ = false;
  if (!looked_) {
    if (auto wait = FindNetwork(now)) return *wait;
  }
  if (address_again_ && now >= *address_again_) stale_ = true;
  if (stale_) {
    if (auto wait = ReadNetwork()) return *wait;
  }
  if (auto wait = AwaitManagementIp(now)) return *wait;
  if (auto wait = PutHostRoute(now)) return *wait;
  const Wait wait = WriteRoutes(now);
  if (wait.state == OverlayState::kHolds && !former_looked_) {
    if (auto failed = RemoveFormer()) return *failed;
  }
  return wait;
}

void OverlayKeeper::WatchAddress(TimePoint now) {
  const auto ip = reading_ ? reading_->provider_address() : std::nullopt;
  if (!ip || *ip == wish_.node_address) {
    address_again_.reset();
  } else if (!address_again_ || now >= *address_again_) {
    address_again_ = now + address_delay_.Next();
  }
}

OverlayKeeper::MaybeWait OverlayKeeper::ReadNetwork() {
  absl::StatusOr<Network> read = network_->Read();
  if (!read.ok()) return Failed(OverlayState::kNetwork, read.status());
  reading_ = *std::move(read);
  stale_ = written_ = planned_ = false;
  if (Differences(wish_, *reading_).empty()) {
    EnterStanding(*reading_);
    return std::nullopt;
  }
  if (std::exchange(creating_, false)) made_ = reading_->id;
  return Failed(OverlayState::kNetwork, absl::FailedPreconditionError(absl::StrCat(
                                            "the HNS network ", wish_.name, " was changed")));
}

OverlayKeeper::MaybeWait OverlayKeeper::AwaitManagementIp(TimePoint now) {
  const auto ip = reading_->provider_address();
  const bool usable = ip && (!ip->IsLinkLocal() || *ip == wish_.node_address);
  if (usable && reading_->dr_mac()) {
    without_ip_since_.reset();
    return std::nullopt;
  }
  if (!without_ip_since_) without_ip_since_ = now;
  stale_ = true;
  // In whole minutes: what says another thing at every look fills the log.
  const auto minutes =
      std::chrono::duration_cast<std::chrono::minutes>(now - *without_ip_since_).count();
  return Wait{OverlayState::kManagementIp,
              absl::StrCat("HNS has not given the network ", wish_.name, " its ",
                           usable ? "router MAC" : "management IP",
                           ip && !usable ? absl::StrCat(" (", ip->ToString(), " is none)") : "",
                           minutes > 0 ? absl::StrCat(" for ", minutes, " min") : " yet",
                           ": it binds the adapter to its switch, which takes up to a minute"),
              kManagementIpPeriod};
}

OverlayKeeper::MaybeWait OverlayKeeper::AwaitAdapter(TimePoint now) {
  if (adapter_given_up_ || adapter_there_.value_or(true)) return std::nullopt;
  if (!without_adapter_since_) without_adapter_since_ = now;
  const Duration waited = now - *without_adapter_since_;
  adapter_given_up_ = waited >= kAdapterTime;
  if (adapter_given_up_) return std::nullopt;
  return Wait{
      OverlayState::kManagementIp,
      absl::StrCat("no adapter has ", reading_->provider_address()->ToString(),
                   ", the management IP of the network ", wish_.name, ", yet: HNS is making it"),
      kAdapterTime - waited};
}

OverlayKeeper::MaybeWait OverlayKeeper::PutHostRoute(TimePoint now) {
  if (reading_->Has(policy_type::kHostRoute)) return std::nullopt;
  if (auto wait = AwaitAdapter(now)) return wait;
  if (host_route_.again && now < *host_route_.again) return std::nullopt;
  const absl::Status status = network_->Add({HostRoutePolicy()});
  if (!status.ok()) {
    const auto code = HresultOf(status);
    // "Not there" may mean the network. If that is found again, it meant something else.
    const bool lost = code && IsNotThere(*code) && not_there_ != reading_->id;
    if (lost) not_there_ = reading_->id;
    if (!code || lost || client_.ServiceGone(status)) return Failed(OverlayState::kNetwork, status);
  }
  host_route_.again = now + host_route_.delay.Next();
  host_route_.note =
      absl::StrCat("this node may not reach its own pods, HostRoute is missing: ",
                   status.ok() ? "HNS accepted it but does not show it" : status.message());
  written_ = true;
  if (!status.ok()) {
    // May have been carried out all the same.
    stale_ = true;
    return ReadNetwork();
  }
  reading_->policies.push_back(HostRoutePolicy());  // until it is read back
  return std::nullopt;
}

OverlayKeeper::Wait OverlayKeeper::WriteRoutes(TimePoint now) {
  if (!wanted_known_) {
    return {OverlayState::kRoutes, "the network stands; the peers are not known yet", std::nullopt};
  }
  if (writer_.next() && now >= *writer_.next()) RoutesChanged();
  const TimePoint begin = clock_();
  for (std::size_t batches = 0;;) {
    if (stale_) {
      if (auto wait = ReadNetwork()) return *wait;
    }
    if (!planned_) PlanAgain(now);
    if (!writer_.has_work()) {
      if (!written_) break;
      stale_ = true;  // read back
      continue;
    }
    if (++batches > kBatchesInRound || clock_() - begin > kBatchesTime) {
      return {OverlayState::kRoutes,
              absl::StrCat("routes to ", wanted_.size(), " peers are being written"),
              Duration::zero()};
    }
    written_ = true;
    const absl::Status status = writer_.WriteBatch(*network_, now);
    if (status.ok()) {
      stale_ = stale_ || writer_.wants_reading();
      continue;
    }
    if (const auto code = HresultOf(status);
        !code || IsNotThere(*code) || client_.ServiceGone(status))
      return Failed(OverlayState::kRoutes, status);
    stale_ = true;
  }
  const std::vector<std::string> pending = writer_.Pending();
  if (pending.empty()) {
    return {OverlayState::kHolds,
            absl::StrCat("the HNS network ", wish_.name, " holds ", wanted_.size(),
                         wanted_.size() == 1 ? " route" : " routes"),
            std::nullopt};
  }
  return {OverlayState::kRoutes,
          absl::StrCat("HNS holds ", standing_, " of ", wanted_.size(), " routes and refuses ",
                       pending.size(), pending.size() == 1 ? " change" : " changes",
                       ", tried again: ", pending.front()),
          writer_.next() ? std::optional(*writer_.next() - now) : std::nullopt};
}

void OverlayKeeper::PlanAgain(TimePoint now) {
  RoutePlan plan = PlanRoutes(wanted_, reading_->policies, wish_.isolation_id, may_remove_);
  standing_ = plan.standing;
  writer_.Take(std::move(plan), now);
  planned_ = true;
}

OverlayKeeper::Wait OverlayKeeper::Failed(OverlayState state, const absl::Status& status,
                                          std::string_view hint) {
  const bool gone = client_.ServiceGone(status);
  if (gone) {
    OnServiceGone();
    state = OverlayState::kHns;
  } else {
    ForgetNetwork();
  }
  const Duration again = failed_ ? delay_.Next() : Duration::zero();
  failed_ = true;
  return {state, absl::StrCat(gone ? "HNS does not answer: " : "", status.message(), hint), again,
          true};
}

std::vector<std::string> OverlayKeeper::Notes() const {
  std::vector<std::string> notes;
  if (!replaced_.empty()) notes.push_back(absl::StrCat("re-created: ", replaced_));
  if (!base_.note.empty()) notes.push_back(base_.note);
  notes.insert(notes.end(), former_notes_.begin(), former_notes_.end());
  if (!reading_) return notes;
  if (!assumed_.empty()) notes.push_back(assumed_);
  if (adapter_given_up_) {
    notes.push_back(absl::StrCat("no adapter has the management IP of the network ", wish_.name,
                                 ": it was waited for, and HostRoute is sent all the same"));
  }
  if (!host_route_.note.empty() && !reading_->Has(policy_type::kHostRoute))
    notes.push_back(host_route_.note);
  const std::string adapter = reading_->adapter_name(), wanted = PhysicalAdapter(wish_.adapter);
  // Found by the node's address, it is the right one whatever it is called.
  const bool by_address = wish_.by_address && reading_->provider_address() == wish_.node_address;
  if (!adapter.empty() && !wanted.empty() && !by_address && !IsAdapterOf(wish_, adapter)) {
    notes.push_back(absl::StrCat("the HNS network ", wish_.name, " stands on the adapter ", adapter,
                                 ", not on ", wanted));
  }
  const auto ip = reading_->provider_address();
  if (ip && *ip != wish_.node_address) {
    notes.push_back(absl::StrCat("HNS sends from ", ip->ToString(), ", and this node's address is ",
                                 wish_.node_address.ToString(), ": if it stays and this node has ",
                                 ip->ToString(),
                                 " no more, drain and reboot it, so that HNS makes the network "
                                 "anew"));
  }
  return notes;
}

}  // namespace weft::hns
