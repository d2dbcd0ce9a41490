// SPDX-License-Identifier: Apache-2.0
#include "control/node/bridge.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/log.h"
#include "control/node/hns_status.h"
#include "control/underlay/interface_choice.h"

namespace weft::node {
namespace {

std::string_view StateName(hns::BridgeState state) {
  switch (state) {
    case hns::BridgeState::kHns:
      return "hns";
    case hns::BridgeState::kNetwork:
      return "network";
    case hns::BridgeState::kManagementIp:
      return "management-ip";
    case hns::BridgeState::kEndpoint:
      return "endpoint";
    case hns::BridgeState::kHolds:
      return "holds";
  }
  return "hns";
}

}  // namespace

bool Bridge::Holds(const State& state) {
  return state.settled && state.outcome.state == hns::BridgeState::kHolds;
}

Bridge::Bridge(host::Host& host, std::shared_ptr<hns::Api> api, const hns::BridgeWish& wish,
               std::function<void()> on_change, std::shared_ptr<hns::Journal> journal)
    : host_(host),
      wish_(wish),
      thread_(std::move(api), std::move(journal),
              [this](hns::Api& each, const std::shared_ptr<hns::Journal>& entered) {
                auto keeper = std::make_unique<hns::BridgeKeeper>(each, wish_, entered);
                keeper->SetAdapterThere(adapter_there_);
                return keeper;
              },
              std::move(on_change), {}) {}

void Bridge::SetWish(const hns::BridgeWish& wish) {
  if (wish == wish_) return;
  wish_ = wish;
  forwarded_.reset();
  thread_.Tell([wish](hns::BridgeKeeper& keeper) { keeper.SetWish(wish); });
}

void Bridge::Changed() {
  const State state = thread_.State();
  const bool looked = forwarded_ == state.outcome.endpoint_id;
  if (state.known && state.outcome.state < hns::BridgeState::kHolds)
    trouble_.Set(state.outcome.sentence);
  else
    trouble_.Set(looked ? forwarding_ : "");
}

std::string Bridge::Unforwarded(const State& state) const {
  return forwarded_ == state.outcome.endpoint_id ? forwarding_
                                                 : "forwarding has not been looked at yet";
}

std::string Bridge::ForwardingOn(const IpAddress& address,
                                 const std::vector<host::Adapter>& adapters) {
  const host::Adapter* adapter = underlay::OwnerOf(address, adapters);
  if (!adapter)
    return absl::StrCat("no adapter has ", address.ToString(), " yet: HNS is making it");
  const absl::StatusOr<bool> on = host_.Forwarding(adapter->index, IpFamily::kV4);
  if (!on.ok()) return std::string(on.status().message());
  if (*on) return {};
  const absl::Status status = host_.SetForwarding(adapter->index, IpFamily::kV4, true);
  if (status.ok()) {
    switched_on_.insert(adapter->index);
    control::LogInfo(absl::StrCat("switched IPv4 forwarding on for ", adapter->name));
  }
  return std::string(status.message());
}

void Bridge::ForwardingOff(const std::set<IpAddress>& addresses,
                           const std::vector<host::Adapter>& adapters) {
  std::erase_if(switched_on_, [&](std::uint32_t index) {
    const host::Adapter* const adapter = underlay::ByIndex(index, adapters);
    if (adapter == nullptr) return true;
    for (const IpAddress& address : addresses) {
      const host::Adapter* const owner = underlay::OwnerOf(address, adapters);
      if (owner && owner->index == index) return false;
    }
    if (!host_.SetForwarding(index, IpFamily::kV4, false).ok()) return false;
    control::LogInfo(absl::StrCat("switched IPv4 forwarding off again for ", adapter->name));
    return true;
  });
}

void Bridge::Forward(const std::vector<host::Adapter>& adapters) {
  const State state = thread_.State();
  const bool there = underlay::OwnerOf(wish_.endpoint_address(), adapters) != nullptr;
  if (state.outcome.endpoint_id && there != std::exchange(adapter_there_, there))
    thread_.Ask([there](hns::BridgeKeeper& keeper) { keeper.SetAdapterThere(there); });
  forwarded_.reset();
  forwarding_.clear();
  if (Holds(state)) {
    forwarded_ = state.outcome.endpoint_id;
    std::set<IpAddress> addresses = {wish_.node_address, wish_.endpoint_address()};
    // Another one where HNS chose another adapter; or the node's former address.
    const auto& management_ip = state.outcome.management_ip;
    if (management_ip && underlay::OwnerOf(*management_ip, adapters))
      addresses.insert(*management_ip);
    for (const IpAddress& address : addresses) {
      std::string failure = ForwardingOn(address, adapters);
      if (forwarding_.empty()) forwarding_ = std::move(failure);
    }
    if (forwarding_.empty()) ForwardingOff(addresses, adapters);
  }
  Changed();
}

bool Bridge::stands() const {
  const State state = thread_.State();
  return Holds(state) && Unforwarded(state).empty();
}

std::string Bridge::Sentence() const { return Status().text; }

admin::HnsStatus Bridge::Status() const {
  const State state = thread_.State();
  admin::HnsStatus status = HnsStatusOf(wish_.name, state);
  status.state = StateName(state.outcome.state);
  if (state.outcome.state != hns::BridgeState::kHolds) return status;
  if (const std::string missing = Unforwarded(state); !state.settled) {
    status.state = StateName(hns::BridgeState::kNetwork);
    status.text = absl::StrCat("the HNS network ", wish_.name, " is to change");
  } else if (!missing.empty()) {
    status.state = "forwarding";
    status.text = missing;
  }
  return status;
}

}  // namespace weft::node
