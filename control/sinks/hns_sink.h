// SPDX-License-Identifier: Apache-2.0
// Peers as RemoteSubnetRoutes of this node's overlay network in HNS. The sink also keeps that
// network. Windows moves the packets.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "control/lease/sink.h"
#include "control/sinks/keeper_thread.h"
#include "hns/api/api.h"
#include "hns/desired_routes.h"
#include "hns/object_ledger.h"
#include "hns/overlay_machine.h"

namespace weft::control {

using HnsState = KeeperState<hns::OverlayOutcome>;

// The route that leads to `peer` in the network of `spec`.
hns::RemoteSubnetRoute RouteTo(const lease::Peer& peer, const hns::OverlaySpec& spec);

// HNS calls block, so they are made on a thread of their own; this object belongs to the control
// thread. IPv6 peers are ignored: HNS has no IPv6 overlay network. The network is created before
// any peer is known; nothing is removed from it before the first Resync. The destructor changes
// nothing in HNS.
class HnsSink final : public lease::Sink {
 public:
  // `on_change`: State or Report may differ; called on the HNS thread, which none of this object's
  // methods waits for then. `ledger`: of the HNS objects that are made; null: no ledger.
  // `awaits_adapter`: wait for SetAdapterPresent. `repairs`: counted there; null: not counted.
  HnsSink(std::shared_ptr<hns::Api> api, const hns::OverlaySpec& spec,
          std::function<void()> on_change, RoundThread::Limits limits = {},
          std::shared_ptr<hns::ObjectLedger> ledger = nullptr, bool awaits_adapter = false,
          std::shared_ptr<hns::Repairs> repairs = nullptr);

  void SetSpec(const hns::OverlaySpec& spec);
  const hns::OverlaySpec& spec() const { return spec_; }
  // Called on the control thread before routes change.
  void SetBeforeRoutes(std::function<void()> before_routes) {
    before_routes_ = std::move(before_routes);
  }
  // An adapter has the management IP. The outcome waits for this.
  void SetAdapterPresent();
  HnsState State() const { return thread_.State(); }
  // Runs `request` on the HNS thread, in its next round.
  void Request(std::function<void(hns::OverlayKeeper&)> request) {
    thread_.Request(std::move(request));
  }
  lease::SinkReport Report() const;
  // The owner calls this about every second; see RoundThread.
  std::string Supervise(RoundThread::Clock::time_point now) { return thread_.Supervise(now); }

  std::string name() const override;
  std::string_view kind() const override { return "hns"; }
  lease::SinkReport Resync(std::span<const lease::Peer> all) override;
  lease::SinkReport Update(const lease::PeerChanges& changes) override;
  lease::SinkReport Retry() override;

 private:
  std::unique_ptr<hns::OverlayKeeper> MakeKeeper(
      hns::Api& api, const std::shared_ptr<hns::ObjectLedger>& ledger) const;

  hns::OverlaySpec spec_;
  std::function<void()> before_routes_;
  const std::shared_ptr<hns::DesiredRoutes> routes_ = std::make_shared<hns::DesiredRoutes>();
  const bool awaits_adapter_;
  const std::shared_ptr<hns::Repairs> repairs_;
  KeeperThread<hns::OverlayKeeper, hns::OverlayOutcome> thread_;  // last: it starts at once
};

}  // namespace weft::control
