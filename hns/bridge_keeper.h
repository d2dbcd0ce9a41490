// SPDX-License-Identifier: Apache-2.0
// Keeps host-gw's L2Bridge network in HNS right, and the endpoint in it through which the host
// talks with its pods. Schema 1, HNSCall only, as upstream v0.28.9 does it. Called as OverlayKeeper
// is.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "hns/adapter_doubt.h"
#include "hns/api/api.h"
#include "hns/bridge.h"
#include "hns/journal.h"
#include "hns/overlay_look.h"
#include "hns/retry_delay.h"

namespace weft::hns {

enum class BridgeState : std::uint8_t {
  kHns,           // HNS answers
  kNetwork,       // the network stands
  kManagementIp,  // HNS has given it a management IP
  kEndpoint,      // our endpoint stands and is the host's
  kHolds,
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

class BridgeKeeper {
 public:
  // `api` outlives it. Its end changes nothing in HNS.
  BridgeKeeper(Api& api, BridgeWish wish, std::shared_ptr<Journal> journal = nullptr)
      : api_(api), journal_(OrNone(std::move(journal))), wish_(std::move(wish)) {}

  void SetWish(const BridgeWish& wish);
  void OnServiceGone() {
    Recheck();
    attached_.reset();
  }
  // Everything is looked at by the next Round.
  void Recheck() { looked_ = former_looked_ = false; }
  // Whether the host has an adapter with the endpoint's address. HNS's word that it is attached is
  // not enough: it has been seen to say so of dead endpoints (OVN#580, calico#11203).
  void SetAdapterThere(bool there) { adapter_there_ = there; }
  // What HNS lacks now. Makes no modifying call.
  absl::StatusOr<Drift> Look();
  BridgeOutcome Round(TimePoint now);

 private:
  struct Wait {
    BridgeState state = BridgeState::kHolds;
    std::string sentence;
    std::optional<Duration> again;
    bool failure = false;
  };
  using MaybeWait = std::optional<Wait>;

  Wait Work(TimePoint now);
  MaybeWait FindNetwork(TimePoint now);
  MaybeWait PutNetwork(const BridgePlan& plan, TimePoint now);
  absl::StatusOr<std::string> MakeByAnyWay(TimePoint now);
  MaybeWait AwaitManagementIp(TimePoint now);
  MaybeWait PutEndpoint();
  MaybeWait AwaitAdapter(TimePoint now);
  bool WasMade();
  void RemoveFormer();
  absl::Status DeleteEndpoint();
  absl::Status Delete(std::string_view what, const std::string& path);
  Wait Failed(BridgeState state, const absl::Status& status);

  JournalObject NetworkObject() const;
  JournalObject EndpointObject() const;
  // The answer's output; the journal hears of it before and after.
  absl::StatusOr<std::string> Make(std::string_view what, const JournalObject& object,
                                   const std::string& path, const std::string& document);

  Api& api_;
  const std::shared_ptr<Journal> journal_;
  BridgeWish wish_;
  bool looked_ = false;
  std::optional<BridgeNetwork> network_;
  std::optional<BridgeEndpoint> endpoint_;  // right, or to be deleted
  bool endpoint_right_ = false;
  std::optional<TimePoint> without_ip_since_;
  bool former_looked_ = false;  // for what was made for an earlier net-conf, since a Recheck
  std::vector<std::string> former_notes_;
  std::string replaced_;
  std::size_t adapter_way_ = 0;  // of AdapterWays: the last one that was tried
  AdapterDoubt doubt_;
  std::string made_shape_;        // of the network that this keeper created last
  std::optional<Guid> attached_;  // the endpoint that this keeper attached to the host
  bool adapter_there_ = true;
  std::optional<TimePoint> again_at_;  // the endpoint is made again, unless its adapter comes
  RetryDelay adapter_delay_{std::chrono::seconds(30), std::chrono::minutes(5)};
  bool failed_ = false;
  RetryDelay delay_{std::chrono::milliseconds(500), std::chrono::seconds(10)};
};

}  // namespace weft::hns
