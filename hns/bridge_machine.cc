// SPDX-License-Identifier: Apache-2.0
#include "hns/bridge_machine.h"

#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hns/api/hresult.h"
#include "hns/base_network.h"
#include "hns/former_network.h"

namespace weft::hns {
namespace {

// Ok if it does not exist.
Sequence<absl::Status> Delete(std::string what, std::string path) {
  const auto done = co_await call::Hns(std::move(what), "DELETE", std::move(path));
  const auto code = HresultOf(done.status());
  co_return code&& IsNotFound(*code) ? absl::OkStatus() : done.status();
}

}  // namespace

void BridgeMachine::SetSpec(const BridgeSpec& spec) {
  if (spec == spec_) return;
  spec_ = spec;
  adapter_.Forget();
  inspected_ = false;
  recreation_ = Recreation();
  endpoint_loss_ = Loss();
}

Sequence<BridgeOutcome> BridgeMachine::Round(TimePoint now) {
  const Wait wait = co_await Work(now);
  if (!wait.failure) failures_.Reset();
  BridgeOutcome outcome;
  outcome.state = wait.state;
  outcome.sentence = wait.sentence;
  if (network_) {
    outcome.network_id = network_->id;
    outcome.management_ip = network_->management_ip;
    if (network_->management_ip && *network_->management_ip != spec_.node_address) {
      outcome.notes.push_back(
          absl::StrCat("HNS built the network ", spec_.name, " on the adapter with ",
                       network_->management_ip->ToString(), ", and this node's address is ",
                       spec_.node_address.ToString(),
                       ": if that adapter has both, end what adds the first one (a load balancer's "
                       "agent), else name the right adapter with --iface"));
    }
  }
  if (endpoint_ && endpoint_right_) outcome.endpoint_id = endpoint_->id;
  if (!replaced_.empty()) outcome.notes.push_back(absl::StrCat("re-created: ", replaced_));
  outcome.notes.insert(outcome.notes.end(), former_notes_.begin(), former_notes_.end());
  if (wait.again) outcome.next = now + *wait.again;
  co_return outcome;
}

Sequence<BridgeMachine::Wait> BridgeMachine::Work(TimePoint now) {
  if (!inspected_)
    if (auto wait = co_await FindNetwork(now)) co_return *wait;
  if (auto wait = co_await AwaitManagementIp(now)) co_return *wait;
  if (auto wait = co_await PutEndpoint(now)) co_return *wait;
  if (auto wait = co_await AwaitAdapter(now)) co_return *wait;
  if (!former_inspected_) co_await RemoveFormers();
  co_return Wait{BridgeState::kInSync,
                 absl::StrCat("the HNS network ", spec_.name, " and its endpoint ",
                              spec_.endpoint_name(), " are in place")};
}

Sequence<absl::StatusOr<Drift>> BridgeMachine::Inspect() {
  absl::StatusOr<BridgePlan> plan = co_await InspectBridge(spec_);
  if (!plan.ok()) co_return plan.status();
  if (plan->network == BridgeAction::kRecreate && WasMade()) {
    plan->network = BridgeAction::kRefuse;
    absl::StrAppend(&plan->reason, kNotReplacedAgain);
  }
  co_return DriftOf(*plan, spec_);
}

Sequence<BridgeMachine::MaybeWait> BridgeMachine::FindNetwork(TimePoint now) {
  const absl::StatusOr<BridgePlan> inspected = co_await InspectBridge(spec_);
  if (!inspected.ok()) co_return co_await Failed(BridgeState::kHns, inspected.status());
  const BridgePlan& plan = *inspected;
  endpoint_ = plan.existing_endpoint;
  endpoint_right_ = plan.endpoint == BridgeAction::kAdopt;
  network_.reset();
  if (plan.network == BridgeAction::kRecreate && WasMade()) {
    co_return Wait{BridgeState::kNetwork, absl::StrCat(plan.reason, kNotReplacedAgain),
                   kRefusalPeriod};
  }
  if (plan.network == BridgeAction::kRefuse)
    co_return Wait{BridgeState::kNetwork, plan.reason, kRefusalPeriod};
  if (plan.network != BridgeAction::kAdopt && AdapterCandidates(spec_).empty())
    co_return Wait{BridgeState::kNetwork, spec_.ambiguous, kRefusalPeriod};
  recreation_.Found(plan.existing.has_value(), plan.network == BridgeAction::kAdopt, now);
  if (recreation_.IsAwaited(now)) co_return recreation_.Awaits<BridgeState>(spec_.name, now);
  if (plan.network == BridgeAction::kAdopt) {
    network_ = plan.existing;
    ledger_->Confirm(NetworkObject(), network_->id);
    endpoint_loss_.Found(endpoint_right_);
    if (endpoint_right_) ledger_->Confirm(EndpointObject(), endpoint_->id);
  } else if (auto wait = co_await PutNetwork(plan, now)) {
    co_return wait;
  }
  inspected_ = true;
  co_return std::nullopt;
}

Sequence<BridgeMachine::MaybeWait> BridgeMachine::PutNetwork(const BridgePlan& plan,
                                                             TimePoint now) {
  if (plan.network == BridgeAction::kRecreate) {
    recreation_.Deleted();  // also if the answer is lost
    const absl::Status status = co_await Delete(absl::StrCat("delete the network ", spec_.name),
                                                BridgeNetworkPath(plan.existing->id));
    if (!status.ok()) co_return co_await Failed(BridgeState::kNetwork, status);
    ledger_->Forget(Kind::kNetwork, spec_.name);
    replaced_ = plan.reason;
  }
  const std::vector<std::string> candidates = AdapterCandidates(spec_);
  const auto create = [&](std::size_t candidate) {
    return CreateIntended(*ledger_, NetworkObject(),
                          call::Hns(absl::StrCat("create the network ", spec_.name), "POST",
                                    "/networks/", BridgeNetworkJson(spec_, candidate)));
  };
  const std::function<TimePoint()> clock = [now] { return now; };
  const absl::StatusOr<std::string> text = co_await adapter_.Try(candidates, create, clock);
  if (!text.ok()) {
    adapter_.StartOver();
    if (MayBeAboutAnotherNetwork(text.status())) co_await RemoveFormers();
    const bool ambiguous = IsAboutAdapter(text.status()) && !spec_.ambiguous.empty();
    absl::Status status = text.status();
    if (ambiguous)
      status = absl::Status(status.code(), absl::StrCat(status.message(), "; ", spec_.ambiguous));
    co_return co_await Failed(BridgeState::kNetwork, status);
  }
  const auto made = ParseBridgeNetworks(*text);
  if (!made.ok() || made->empty()) {
    co_return co_await Failed(BridgeState::kNetwork,
                              absl::DataLossError(absl::StrCat("HNS created the network ",
                                                               spec_.name, " and returned no id")));
  }
  endpoint_loss_ = Loss();  // it went with the former network
  if (recreation_.Created(now))
    repairs_->Add(Repairs::Kind::kNetwork, 1, absl::StrCat("the network ", spec_.name), now);
  network_ = made->front();
  made_shape_ = NetworkObject().shape;
  ledger_->Confirm(NetworkObject(), network_->id);
  co_return std::nullopt;
}

bool BridgeMachine::WasMade() {
  return made_shape_ == NetworkObject().shape || ledger_->MadeThisBoot(NetworkObject());
}

// Removes overlay networks from before host-gw and bridges of another Backend.Name
// (former_network.h).
Sequence<Nothing> BridgeMachine::RemoveFormers() {
  former_inspected_ = true;
  former_notes_.clear();
  co_await ConfirmIntended(*ledger_, spec_.name);
  const std::vector<KnownObject> endpoints = ledger_->Objects(Kind::kEndpoint);
  for (const KnownObject& entry : ledger_->Objects(Kind::kNetwork)) {
    if (!entry.made || !entry.id || entry.name == spec_.name || entry.name == kBaseNetworkName)
      continue;
    const FormerNetwork former{*entry.id, entry.name};
    // HNS may list it later: a network that is not listed keeps its entry in the ledger.
    const FormerRemoval removal = co_await RemoveFormer(*ledger_, former, endpoints);
    if (!removal.note.empty()) former_notes_.push_back(removal.note);
  }
  co_return Nothing();
}

Sequence<BridgeMachine::MaybeWait> BridgeMachine::AwaitManagementIp(TimePoint now) {
  // Read only while it is missing; Recheck finds drift.
  if (!network_->management_ip || network_->management_ip->IsLinkLocal()) {
    const auto text = co_await call::Hns(absl::StrCat("read the network ", spec_.name), "GET",
                                         BridgeNetworkPath(network_->id));
    if (!text.ok()) co_return co_await Failed(BridgeState::kNetwork, text.status());
    const auto read = ParseBridgeNetworks(*text);
    if (!read.ok()) co_return co_await Failed(BridgeState::kNetwork, read.status());
    if (!read->empty()) network_ = read->front();
  }
  const auto& ip = network_->management_ip;
  if (ip && (!ip->IsLinkLocal() || *ip == spec_.node_address)) {
    without_ip_since_.reset();
    co_return std::nullopt;
  }
  if (!without_ip_since_) without_ip_since_ = now;
  // HNS 7.2 assigns it only once the host has an endpoint in the network.
  if (auto wait = co_await PutEndpoint(now)) co_return wait;
  co_return Wait{BridgeState::kManagementIp,
                 AwaitsText(spec_.name, "management IP", now - *without_ip_since_),
                 kManagementIpPeriod};
}

Sequence<absl::Status> BridgeMachine::DeleteEndpoint() {
  const absl::Status status = co_await Delete(absl::StrCat("delete the endpoint ", endpoint_->name),
                                              BridgeEndpointPath(endpoint_->id));
  if (!status.ok()) co_return status;
  ledger_->Forget(Kind::kEndpoint, endpoint_->name);
  endpoint_.reset();
  co_return absl::OkStatus();
}

Sequence<BridgeMachine::MaybeWait> BridgeMachine::PutEndpoint(TimePoint now) {
  if (endpoint_ && !endpoint_right_) {
    const absl::Status status = co_await DeleteEndpoint();
    if (!status.ok()) co_return co_await Failed(BridgeState::kEndpoint, status);
  }
  if (!endpoint_) {
    const std::string what = absl::StrCat("create the endpoint ", spec_.endpoint_name());
    const auto text = co_await CreateIntended(
        *ledger_, EndpointObject(),
        call::Hns(what, "POST", "/endpoints/", BridgeEndpointJson(spec_, network_->id)));
    if (!text.ok()) co_return co_await Failed(BridgeState::kEndpoint, text.status());
    const auto made = ParseBridgeEndpoints(*text);
    if (!made.ok() || made->empty()) {
      co_return co_await Failed(BridgeState::kEndpoint,
                                absl::DataLossError(absl::StrCat(what, ": HNS returned no id")));
    }
    if (endpoint_loss_.Found(true)) {
      repairs_->Add(Repairs::Kind::kEndpoint, 1,
                    absl::StrCat("the endpoint ", spec_.endpoint_name()), now);
    }
    endpoint_ = made->front();
    endpoint_right_ = true;
    ledger_->Confirm(EndpointObject(), endpoint_->id);
  }
  // Attached once even if HNS reports it as attached, as upstream does.
  if (endpoint_->attached && attached_ == endpoint_->id) co_return std::nullopt;
  const auto attached =
      co_await call::Hns(absl::StrCat("attach the endpoint ", endpoint_->name, " to the host"),
                         "POST", BridgeEndpointPath(endpoint_->id) + "/attach", HostAttachJson());
  if (!attached.ok()) {
    const auto code = HresultOf(attached.status());
    if (code != hresult::kEndpointAlreadyAttached && code != hresult::kWrongDiskette)
      co_return co_await Failed(BridgeState::kEndpoint, attached.status());
  }
  attached_ = endpoint_->id;
  endpoint_->attached = true;
  co_return std::nullopt;
}

// Re-creates our endpoint if its adapter does not appear; operators do the same by hand
// (flannel#1391).
Sequence<BridgeMachine::MaybeWait> BridgeMachine::AwaitAdapter(TimePoint now) {
  if (adapter_present_) {
    again_at_.reset();
    adapter_delay_.Reset();
    co_return std::nullopt;
  }
  if (!again_at_) again_at_ = now + adapter_delay_.Next();
  if (now >= *again_at_) {
    again_at_ = now + adapter_delay_.Next();
    endpoint_loss_ = Loss();  // we delete it
    const absl::Status status = co_await DeleteEndpoint();
    if (!status.ok()) co_return co_await Failed(BridgeState::kEndpoint, status);
    if (auto wait = co_await PutEndpoint(now)) co_return wait;
  }
  co_return Wait{BridgeState::kEndpoint,
                 absl::StrCat("no adapter has ", spec_.endpoint_address().ToString(),
                              " yet: HNS is creating it"),
                 *again_at_ - now};
}

LedgerObject BridgeMachine::NetworkObject() const {
  return {Kind::kNetwork, spec_.name, absl::StrCat("L2Bridge ", spec_.subnet.ToString())};
}

LedgerObject BridgeMachine::EndpointObject() const {
  return {Kind::kEndpoint, spec_.endpoint_name(), spec_.endpoint_address().ToString()};
}

Sequence<BridgeMachine::Wait> BridgeMachine::Failed(BridgeState state, absl::Status status) {
  inspected_ = false;
  const bool gone = co_await call::IsGone(status);
  co_return Wait{gone ? BridgeState::kHns : state,
                 absl::StrCat(gone ? "HNS does not answer: " : "", status.message()),
                 failures_.Next(), true};
}

}  // namespace weft::hns
