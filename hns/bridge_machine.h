// SPDX-License-Identifier: Apache-2.0
// Keeps host-gw's L2Bridge network in HNS right, and the endpoint in it through which the host
// talks with its pods. Schema 1, HNSCall only, as upstream v0.28.9 does it. Called as
// OverlayMachine is.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hns/bridge.h"
#include "hns/keeper_parts.h"
#include "hns/object_ledger.h"
#include "hns/overlay_drift.h"
#include "hns/retry_delay.h"
#include "hns/sequence.h"

namespace weft::hns {

enum class BridgeState : std::uint8_t {
  kHns,           // HNS answers
  kNetwork,       // the network stands
  kManagementIp,  // HNS has given it a management IP
  kEndpoint,      // our endpoint stands and is the host's
  kInSync,
};

struct BridgeOutcome {
  BridgeState state = BridgeState::kHns;
  std::string sentence;  // for `status`
  // As read last; empty while it is not there.
  std::optional<Guid> network_id;
  std::optional<IpAddress> management_ip;
  std::optional<Guid> endpoint_id;
  std::vector<std::string> notes;
  std::optional<TimePoint> next;  // as OverlayOutcome's
};

class BridgeMachine {
 public:
  // Its end changes nothing in HNS.
  explicit BridgeMachine(BridgeSpec spec, std::shared_ptr<ObjectLedger> ledger = nullptr)
      : ledger_(OrNone(std::move(ledger))), spec_(std::move(spec)) {}

  void SetSpec(const BridgeSpec& spec);
  void OnServiceGone() {
    Recheck();
    attached_.reset();
  }
  // Everything is looked at by the next Round.
  void Recheck() { inspected_ = former_inspected_ = false; }
  // Whether the host has an adapter with the endpoint's address. HNS's word that it is attached is
  // not enough: it has been seen to say so of dead endpoints (OVN#580, calico#11203).
  void SetAdapterThere(bool there) { adapter_there_ = there; }
  // What HNS lacks now. Makes no modifying call.
  Sequence<absl::StatusOr<Drift>> Inspect();
  Sequence<BridgeOutcome> Round(TimePoint now);

 private:
  using Wait = hns::Wait<BridgeState>;
  using MaybeWait = std::optional<Wait>;  // empty: go on

  Sequence<Wait> Work(TimePoint now);
  Sequence<MaybeWait> FindNetwork(TimePoint now);
  Sequence<MaybeWait> PutNetwork(const BridgePlan& plan, TimePoint now);
  Sequence<MaybeWait> AwaitManagementIp(TimePoint now);
  Sequence<MaybeWait> PutEndpoint();
  Sequence<MaybeWait> AwaitAdapter(TimePoint now);
  bool WasMade();
  Sequence<Nothing> RemoveFormers();
  Sequence<absl::Status> DeleteEndpoint();
  Sequence<Wait> Failed(BridgeState state, absl::Status status);

  LedgerObject NetworkObject() const;
  LedgerObject EndpointObject() const;

  const std::shared_ptr<ObjectLedger> ledger_;
  BridgeSpec spec_;
  bool inspected_ = false;
  std::optional<BridgeNetwork> network_;
  std::optional<BridgeEndpoint> endpoint_;  // right, or to be deleted
  bool endpoint_right_ = false;
  std::optional<TimePoint> without_ip_since_;
  bool former_inspected_ = false;  // for what was made for an earlier net-conf, since a Recheck
  std::vector<std::string> former_notes_;
  std::string replaced_;
  AdapterChoice adapter_;
  std::string made_shape_;        // of the network that this keeper created last
  std::optional<Guid> attached_;  // the endpoint that this keeper attached to the host
  bool adapter_there_ = true;
  std::optional<TimePoint> again_at_;  // the endpoint is made again, unless its adapter comes
  RetryDelay adapter_delay_{std::chrono::seconds(30), std::chrono::minutes(5)};
  FailureDelay failures_;
};

using BridgeKeeper = Driven<BridgeMachine>;

}  // namespace weft::hns
