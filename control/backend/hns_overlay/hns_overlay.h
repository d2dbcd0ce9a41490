// SPDX-License-Identifier: Apache-2.0
// vxlan through HNS: an overlay network whose routes are the peers. As the data plane it decides
// our VTEP MAC and public address; as a follower it receives the desired state and decides nothing.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "control/backend/backend.h"
#include "control/backend/hns_overlay/tunnel_firewall.h"
#include "control/sinks/hns_sink.h"
#include "hns/overlay_plan.h"

namespace weft::backend {

// `plan` has IPv4. The error: HNS takes no such VNI. Pure.
absl::StatusOr<hns::OverlayWish> OverlayFor(const NodePlan& plan, const config::Options& options,
                                            const control::NetConf& conf,
                                            const std::vector<host::Adapter>& adapters);

class HnsOverlay final : public Backend {
 public:
  HnsOverlay(const Context& context, bool follower)
      : context_(context), follower_(follower), firewall_(context.host, context.ledger) {}
  ~HnsOverlay() override { Close(); }
  HnsOverlay(const HnsOverlay&) = delete;
  HnsOverlay& operator=(const HnsOverlay&) = delete;

  absl::Status Configure(const NodePlan& plan, const underlay::HostFacts& host) override;
  absl::Status Open() override;
  bool IsComplete() const override { return sink_ ? desired_ == sink_->wish() : !desired_; }
  void Close() override;
  std::optional<LeaseFacts> lease_facts() const override;
  void OnAdapters(const std::vector<host::Adapter>& adapters) override;
  void OnHnsChange() override;
  void Poll(control::TimePoint now) override;
  bool RequestPlan(bool repair, const PlanReply& reply) override;
  std::string TunnelsText() const override;
  void AppendChecks(std::vector<admin::Check>& checks) const override;
  void AppendConditions(std::vector<NamedCondition>& out) const override;
  void FillStatus(admin::Status& status) const override;

 private:
  admin::HnsStatus ReadStatus() const;

  const Context& context_;
  const bool follower_;
  TunnelFirewall firewall_;
  std::optional<hns::OverlayWish> desired_;  // empty: the plan has no IPv4
  std::unique_ptr<control::HnsSink> sink_;
  std::optional<IpAddress> awaited_;  // the management IP for whose adapter HNS's network waits
  control::Trouble condition_;        // a call into HNS takes too long, or never came back
};

}  // namespace weft::backend
