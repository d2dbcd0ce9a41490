// SPDX-License-Identifier: Apache-2.0
// Peers as RemoteSubnetRoutes of this node's overlay network in HNS, which it keeps as well.
// Windows moves the packets.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "control/lease/sink.h"
#include "control/sinks/keeper_thread.h"
#include "hns/api/api.h"
#include "hns/object_ledger.h"
#include "hns/overlay_machine.h"

namespace weft::control {

using HnsState = KeeperState<hns::OverlayOutcome>;

// HNS blocks, so all of it is done on a thread of its own; this object lives on the control thread.
// Peers of IPv6 are ignored: HNS has no such overlay network. The network is made before any peer
// is known; nothing is removed from it before the first Resync. Its end changes nothing in HNS.
class HnsSink final : public lease::Sink {
 public:
  // `on_change`: State or Report may differ; on the HNS thread, while none of this object's methods
  // waits for it. `ledger`: of what is made; null: no ledger.
  // `awaits_adapter`: for SetAdapterThere.
  HnsSink(std::shared_ptr<hns::Api> api, const hns::OverlaySpec& spec,
          std::function<void()> on_change, RoundThread::Limits limits = {},
          std::shared_ptr<hns::ObjectLedger> ledger = nullptr, bool awaits_adapter = false);

  void SetSpec(const hns::OverlaySpec& spec);
  const hns::OverlaySpec& spec() const { return spec_; }
  // That an adapter has the management IP, which the outcome awaits.
  void SetAdapterThere();
  HnsState State() const { return thread_.State(); }
  // On the HNS thread, in its next round.
  void Ask(std::function<void(hns::OverlayKeeper&)> question) { thread_.Ask(std::move(question)); }
  lease::SinkReport Report() const;
  // By the owner about every second; see RoundThread.
  std::string Look(RoundThread::Clock::time_point now) { return thread_.Look(now); }

  std::string name() const override;
  lease::SinkReport Resync(std::span<const lease::Peer> all) override;
  lease::SinkReport Update(const lease::PeerChanges& changes) override;
  lease::SinkReport Retry() override;

 private:
  std::unique_ptr<hns::OverlayKeeper> MakeKeeper(
      hns::Api& api, const std::shared_ptr<hns::ObjectLedger>& ledger) const;
  hns::RemoteSubnetRoute RouteTo(const lease::Peer& peer) const;

  hns::OverlaySpec spec_;
  hns::RemoteSubnetRoutes routes_;
  bool all_known_ = false;
  const bool awaits_adapter_;
  KeeperThread<hns::OverlayKeeper, hns::OverlayOutcome> thread_;  // last: it begins at once
};

}  // namespace weft::control
