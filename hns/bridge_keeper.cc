// SPDX-License-Identifier: Apache-2.0
#include "hns/bridge_keeper.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "hns/api/hresult.h"
#include "hns/base_network.h"
#include "hns/bridge_look.h"
#include "hns/client.h"
#include "hns/former_network.h"

namespace weft::hns {

void BridgeKeeper::SetWish(const BridgeWish& wish) {
  if (wish == wish_) return;
  wish_ = wish;
  adapter_way_ = 0;
  doubt_ = AdapterDoubt();
  looked_ = false;
}

BridgeOutcome BridgeKeeper::Round(TimePoint now) {
  const Wait wait = Work(now);
  if (!wait.failure) {
    failed_ = false;
    delay_.Reset();
  }
  BridgeOutcome outcome;
  outcome.state = wait.state;
  outcome.sentence = wait.sentence;
  if (network_) {
    outcome.network_id = network_->id;
    outcome.management_ip = network_->management_ip;
    if (network_->management_ip && *network_->management_ip != wish_.node_address) {
      outcome.notes.push_back(
          absl::StrCat("HNS built the network ", wish_.name, " on the adapter with ",
                       network_->management_ip->ToString(), ", and this node's address is ",
                       wish_.node_address.ToString()));
    }
  }
  if (endpoint_ && endpoint_right_) outcome.endpoint_id = endpoint_->id;
  if (!replaced_.empty()) outcome.notes.push_back(absl::StrCat("re-created: ", replaced_));
  outcome.notes.insert(outcome.notes.end(), former_notes_.begin(), former_notes_.end());
  if (wait.again) outcome.next = now + *wait.again;
  return outcome;
}

BridgeKeeper::Wait BridgeKeeper::Work(TimePoint now) {
  if (!looked_) {
    if (auto wait = FindNetwork(now)) return *wait;
  }
  if (auto wait = AwaitManagementIp(now)) return *wait;
  if (auto wait = PutEndpoint()) return *wait;
  if (auto wait = AwaitAdapter(now)) return *wait;
  if (!former_looked_) RemoveFormer();
  return {BridgeState::kHolds,
          absl::StrCat("the HNS network ", wish_.name, " and its endpoint ", wish_.endpoint_name(),
                       " stand"),
          std::nullopt};
}

absl::StatusOr<Drift> BridgeKeeper::Look() {
  absl::StatusOr<BridgePlan> plan = LookAtBridge(api_, wish_);
  if (!plan.ok()) return plan.status();
  if (plan->network == BridgeAction::kRecreate && WasMade()) {
    plan->network = BridgeAction::kRefuse;
    absl::StrAppend(&plan->reason, kNotAgain);
  }
  return DriftOf(*plan, wish_);
}

BridgeKeeper::MaybeWait BridgeKeeper::FindNetwork(TimePoint now) {
  const absl::StatusOr<BridgePlan> looked = LookAtBridge(api_, wish_);
  if (!looked.ok()) return Failed(BridgeState::kHns, looked.status());
  const BridgePlan& plan = *looked;
  endpoint_ = plan.existing_endpoint;
  endpoint_right_ = plan.endpoint == BridgeAction::kAdopt;
  network_.reset();
  if (plan.network == BridgeAction::kRecreate && WasMade()) {
    return Wait{BridgeState::kNetwork, absl::StrCat(plan.reason, kNotAgain), kRefusalPeriod};
  }
  const bool makes =
      plan.network == BridgeAction::kCreate || plan.network == BridgeAction::kRecreate;
  if (makes && AdapterWays(wish_).empty())
    return Wait{BridgeState::kNetwork, wish_.ambiguous, kRefusalPeriod};
  if (plan.network == BridgeAction::kRefuse)
    return Wait{BridgeState::kNetwork, plan.reason, kRefusalPeriod};
  if (plan.network == BridgeAction::kAdopt) {
    network_ = plan.existing;
    journal_->Stands(NetworkObject(), network_->id);
    if (endpoint_right_) journal_->Stands(EndpointObject(), endpoint_->id);
  } else if (auto wait = PutNetwork(plan, now)) {
    return wait;
  }
  looked_ = true;
  return std::nullopt;
}

BridgeKeeper::MaybeWait BridgeKeeper::PutNetwork(const BridgePlan& plan, TimePoint now) {
  if (plan.network == BridgeAction::kRecreate) {
    const absl::Status status = Delete(absl::StrCat("delete the network ", wish_.name),
                                       BridgeNetworkPath(plan.existing->id));
    if (!status.ok()) return Failed(BridgeState::kNetwork, status);
    journal_->Gone(Kind::kNetwork, wish_.name);
    replaced_ = plan.reason;
  }
  const absl::StatusOr<std::string> text = MakeByAnyWay(now);
  if (!text.ok()) {
    adapter_way_ = 0;
    if (MayBeAboutAnotherNetwork(text.status())) RemoveFormer();
    const bool ambiguous = IsAboutAdapter(text.status()) && !wish_.ambiguous.empty();
    return Failed(BridgeState::kNetwork,
                  ambiguous
                      ? absl::Status(text.status().code(),
                                     absl::StrCat(text.status().message(), "; ", wish_.ambiguous))
                      : text.status());
  }
  const auto made = ParseBridgeNetworks(*text);
  if (!made.ok() || made->empty()) {
    return Failed(BridgeState::kNetwork,
                  absl::DataLossError(absl::StrCat("HNS created the network ", wish_.name,
                                                   " and did not say its id")));
  }
  network_ = made->front();
  made_shape_ = NetworkObject().shape;
  journal_->Stands(NetworkObject(), network_->id);
  return std::nullopt;
}

absl::StatusOr<std::string> BridgeKeeper::MakeByAnyWay(TimePoint now) {
  const auto make = [&] {
    auto text = Make(absl::StrCat("create the network ", wish_.name), NetworkObject(), "/networks/",
                     BridgeNetworkJson(wish_, adapter_way_));
    doubt_.Hear(text.status(), now);
    return text;
  };
  const std::vector<std::string> ways = AdapterWays(wish_);
  auto text = make();
  for (std::size_t tried = 1; tried < ways.size() && IsAboutAdapter(text.status()); ++tried) {
    adapter_way_ = (adapter_way_ + 1) % ways.size();
    if (ways[adapter_way_].empty() && !doubt_.MayLetHnsChoose(now)) continue;
    text = make();
  }
  return text;
}

bool BridgeKeeper::WasMade() {
  return made_shape_ == NetworkObject().shape || journal_->MadeThisBoot(NetworkObject());
}

// An overlay network of before host-gw, or a bridge of another Backend.Name (former_network.h).
void BridgeKeeper::RemoveFormer() {
  former_looked_ = true;
  former_notes_.clear();
  Client client(api_);
  const std::vector<JournalEntry> endpoints = journal_->Entries(Kind::kEndpoint);
  for (const JournalEntry& entry : journal_->Entries(Kind::kNetwork)) {
    if (!entry.made || !entry.id || entry.name == wish_.name || entry.name == kBaseNetworkName)
      continue;
    const FormerNetwork former{*entry.id, entry.name};
    const absl::StatusOr<FormerLook> look = LookAtFormer(client, former, endpoints);
    if (look.ok() && !look->there) continue;  // HNS may list it late
    if (look.ok() && !look->inhabitants.empty()) {
      former_notes_.push_back(LeftText(former, look->inhabitants));
      continue;
    }
    absl::Status status = look.status();
    for (std::size_t i = 0; status.ok() && i < look->own.size(); ++i) {
      status = client.DeleteEndpoint(*look->own[i].id, look->own[i].name);
      if (status.ok()) journal_->Gone(Kind::kEndpoint, look->own[i].name);
    }
    if (status.ok()) status = client.DeleteNetwork(former.id, former.name);
    if (status.ok())
      journal_->Gone(Kind::kNetwork, former.name);
    else
      former_notes_.push_back(
          absl::StrCat("the HNS network ", former.name,
                       ", made for an earlier net-conf, still exists: ", status.message()));
  }
}

BridgeKeeper::MaybeWait BridgeKeeper::AwaitManagementIp(TimePoint now) {
  // Read anew only while it is missing; drift is what Recheck is for.
  if (!network_->management_ip || network_->management_ip->IsLinkLocal()) {
    const auto text = CallHns(api_, absl::StrCat("read the network ", wish_.name), "GET",
                              BridgeNetworkPath(network_->id));
    if (!text.ok()) return Failed(BridgeState::kNetwork, text.status());
    const auto read = ParseBridgeNetworks(*text);
    if (!read.ok()) return Failed(BridgeState::kNetwork, read.status());
    if (!read->empty()) network_ = read->front();
  }
  const auto& ip = network_->management_ip;
  if (ip && (!ip->IsLinkLocal() || *ip == wish_.node_address)) {
    without_ip_since_.reset();
    return std::nullopt;
  }
  if (!without_ip_since_) without_ip_since_ = now;
  // HNS 7.2 gives it only once the host has an endpoint in the network.
  if (auto wait = PutEndpoint()) return wait;
  // In whole minutes: what says another thing at every look fills the log.
  const auto minutes =
      std::chrono::duration_cast<std::chrono::minutes>(now - *without_ip_since_).count();
  return Wait{BridgeState::kManagementIp,
              absl::StrCat("HNS has not given the network ", wish_.name, " its management IP",
                           minutes > 0 ? absl::StrCat(" for ", minutes, " min") : " yet",
                           ": it binds the adapter to its switch, which takes up to a minute"),
              kManagementIpPeriod};
}

absl::Status BridgeKeeper::DeleteEndpoint() {
  absl::Status status = Delete(absl::StrCat("delete the endpoint ", endpoint_->name),
                               BridgeEndpointPath(endpoint_->id));
  if (!status.ok()) return status;
  journal_->Gone(Kind::kEndpoint, endpoint_->name);
  endpoint_.reset();
  return absl::OkStatus();
}

BridgeKeeper::MaybeWait BridgeKeeper::PutEndpoint() {
  if (endpoint_ && !endpoint_right_) {
    const absl::Status status = DeleteEndpoint();
    if (!status.ok()) return Failed(BridgeState::kEndpoint, status);
  }
  if (!endpoint_) {
    const std::string what = absl::StrCat("create the endpoint ", wish_.endpoint_name());
    const auto text =
        Make(what, EndpointObject(), "/endpoints/", BridgeEndpointJson(wish_, network_->id));
    if (!text.ok()) return Failed(BridgeState::kEndpoint, text.status());
    const auto made = ParseBridgeEndpoints(*text);
    if (!made.ok() || made->empty()) {
      return Failed(BridgeState::kEndpoint,
                    absl::DataLossError(absl::StrCat(what, ": HNS answered without its id")));
    }
    endpoint_ = made->front();
    endpoint_right_ = true;
    journal_->Stands(EndpointObject(), endpoint_->id);
  }
  // Once also where HNS says that it is attached, as upstream does.
  if (endpoint_->attached && attached_ == endpoint_->id) return std::nullopt;
  const auto attached =
      CallHns(api_, absl::StrCat("attach the endpoint ", endpoint_->name, " to the host"), "POST",
              BridgeEndpointPath(endpoint_->id) + "/attach", HostAttachJson());
  if (!attached.ok()) {
    const auto code = HresultOf(attached.status());
    if (code != hresult::kEndpointAlreadyAttached && code != hresult::kWrongDiskette)
      return Failed(BridgeState::kEndpoint, attached.status());
  }
  attached_ = endpoint_->id;
  endpoint_->attached = true;
  return std::nullopt;
}

// An endpoint whose adapter does not come is made again: it is ours, and people's own cure
// (flannel#1391).
BridgeKeeper::MaybeWait BridgeKeeper::AwaitAdapter(TimePoint now) {
  if (adapter_there_) {
    again_at_.reset();
    adapter_delay_.Reset();
    return std::nullopt;
  }
  if (!again_at_) again_at_ = now + adapter_delay_.Next();
  if (now >= *again_at_) {
    again_at_ = now + adapter_delay_.Next();
    if (const absl::Status status = DeleteEndpoint(); !status.ok())
      return Failed(BridgeState::kEndpoint, status);
    if (auto wait = PutEndpoint()) return wait;
  }
  return Wait{BridgeState::kEndpoint,
              absl::StrCat("no adapter has ", wish_.endpoint_address().ToString(),
                           " yet: HNS is making it"),
              *again_at_ - now};
}

JournalObject BridgeKeeper::NetworkObject() const {
  return {Kind::kNetwork, wish_.name, absl::StrCat("L2Bridge ", wish_.subnet.ToString())};
}

JournalObject BridgeKeeper::EndpointObject() const {
  return {Kind::kEndpoint, wish_.endpoint_name(), wish_.endpoint_address().ToString()};
}

absl::StatusOr<std::string> BridgeKeeper::Make(std::string_view what, const JournalObject& object,
                                               const std::string& path,
                                               const std::string& document) {
  return CreateEntered(*journal_, object,
                       [&] { return CallHns(api_, what, "POST", path, document); });
}

absl::Status BridgeKeeper::Delete(std::string_view what, const std::string& path) {
  const auto done = CallHns(api_, what, "DELETE", path);
  const auto code = HresultOf(done.status());
  if (code && IsNotThere(*code)) return absl::OkStatus();
  return done.status();
}

BridgeKeeper::Wait BridgeKeeper::Failed(BridgeState state, const absl::Status& status) {
  looked_ = false;
  const bool gone = Client(api_).ServiceGone(status);
  const Duration again = failed_ ? delay_.Next() : Duration::zero();
  failed_ = true;
  return {gone ? BridgeState::kHns : state,
          absl::StrCat(gone ? "HNS does not answer: " : "", status.message()), again, true};
}

}  // namespace weft::hns
