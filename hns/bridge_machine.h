// SPDX-License-Identifier: Apache-2.0
// Keeps host-gw's L2Bridge network in HNS in sync, and the endpoint in it between the host and its
// pods. Schema 1, HNSCall only, as upstream v0.28.9. Used like OverlayMachine.
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
#include "hns/repairs.h"
#include "hns/retry_delay.h"
#include "hns/sequence.h"

namespace weft::hns {

// What the machine works at or waits for, in order.
enum class BridgeState : std::uint8_t {
  kHns,           // HNS does not answer
  kNetwork,       // the network is missing or differs
  kManagementIp,  // the network has no management IP yet
  kEndpoint,      // our endpoint is missing, differs or is not attached to the host
  kInSync,
};

struct BridgeOutcome {
  BridgeState state = BridgeState::kHns;
  std::string sentence;  // for `status`
  // As read last; empty while the object does not exist.
  std::optional<Guid> network_id;
  std::optional<IpAddress> management_ip;
  std::optional<Guid> endpoint_id;
  std::vector<std::string> notes;
  std::optional<TimePoint> next;  // as in OverlayOutcome
};

class BridgeMachine {
 public:
  // Destruction changes nothing in HNS.
  explicit BridgeMachine(BridgeSpec spec, std::shared_ptr<ObjectLedger> ledger = nullptr)
      : ledger_(OrNone(std::move(ledger))), spec_(std::move(spec)) {}

  void SetSpec(const BridgeSpec& spec);
  // Counts repairs there, from now on.
  void SetRepairs(std::shared_ptr<Repairs> repairs) { repairs_ = std::move(repairs); }
  void OnServiceGone() {
    Recheck();
    attached_.reset();
  }
  // The same, and what waits for its next try is tried now.
  void RetryNow() {
    OnServiceGone();
    recreation_.RetryNow();
  }
  // The next Round reads everything again.
  void Recheck() { inspected_ = former_inspected_ = false; }
  // Whether the host has an adapter with the endpoint's address. HNS's attached state is not
  // enough: HNS reports it for dead endpoints too (OVN#580, calico#11203).
  void SetAdapterPresent(bool present) { adapter_present_ = present; }
  // What HNS lacks now. Makes no modifying call.
  Sequence<absl::StatusOr<Drift>> Inspect();
  Sequence<BridgeOutcome> Round(TimePoint now);

 private:
  using Wait = hns::Wait<BridgeState>;
  using MaybeWait = std::optional<Wait>;  // empty: continue

  Sequence<Wait> Work(TimePoint now);
  Sequence<MaybeWait> FindNetwork(TimePoint now);
  Sequence<MaybeWait> PutNetwork(const BridgePlan& plan, TimePoint now);
  Sequence<MaybeWait> AwaitManagementIp(TimePoint now);
  Sequence<MaybeWait> PutEndpoint(TimePoint now);
  Sequence<MaybeWait> AwaitAdapter(TimePoint now);
  bool WasMade();
  Sequence<Nothing> RemoveFormers();
  Sequence<absl::Status> DeleteEndpoint();
  Sequence<Wait> Failed(BridgeState state, absl::Status status);

  LedgerObject NetworkObject() const;
  LedgerObject EndpointObject() const;

  const std::shared_ptr<ObjectLedger> ledger_;
  BridgeSpec spec_;
  std::shared_ptr<Repairs> repairs_ = std::make_shared<Repairs>();
  bool inspected_ = false;
  Recreation recreation_;
  Loss endpoint_loss_;
  std::optional<BridgeNetwork> network_;
  std::optional<BridgeEndpoint> endpoint_;  // to be deleted unless endpoint_right_
  bool endpoint_right_ = false;
  std::optional<TimePoint> without_ip_since_;
  bool former_inspected_ = false;  // networks of an earlier net-conf, since the last Recheck
  std::vector<std::string> former_notes_;
  std::string replaced_;
  AdapterChoice adapter_;
  std::string made_shape_;        // of the network that this machine created last
  std::optional<Guid> attached_;  // the endpoint that this machine attached to the host
  bool adapter_present_ = true;
  std::optional<TimePoint> again_at_;  // when the endpoint is re-created if it has no adapter
  RetryDelay adapter_delay_{std::chrono::seconds(30), std::chrono::minutes(5)};
  FailureDelay failures_;
};

using BridgeKeeper = Driven<BridgeMachine>;

// ---- What the keeper would do now, without doing it; for `flannelctl plan` and `hns drift`.

// Makes no modifying call.
Sequence<absl::StatusOr<BridgePlan>> InspectBridge(const BridgeSpec& spec);

// In the keeper's order. An endpoint on a network that does not exist yet has a zero network id.
std::vector<PlannedCall> PlannedCalls(const BridgePlan& plan, const BridgeSpec& spec);
Drift DriftOf(const BridgePlan& plan, const BridgeSpec& spec);

std::string BridgeNetworkPath(const Guid& id);
std::string BridgeEndpointPath(const Guid& id);

}  // namespace weft::hns
