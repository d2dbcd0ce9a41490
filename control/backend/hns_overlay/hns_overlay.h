// SPDX-License-Identifier: Apache-2.0
// vxlan through HNS: an overlay network whose routes are the peers. As the data plane it decides
// our VTEP MAC and public address; as a follower it receives the desired state and decides nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "control/backend/hns_network.h"
#include "control/backend/tunnel_firewall.h"
#include "control/sinks/hns_sink.h"
#include "hns/overlay_plan.h"

namespace weft::backend {

// `plan` has IPv4. The error: HNS does not support the VNI. Pure.
absl::StatusOr<hns::OverlaySpec> OverlayFor(const NodePlan& plan, const config::Options& options,
                                            const control::NetConf& conf,
                                            const std::vector<host::Adapter>& adapters);

class HnsOverlay final : public HnsNetwork<control::HnsSink, hns::OverlaySpec, OverlayFor> {
 public:
  HnsOverlay(const Context& context, bool follower)
      : HnsNetwork(context, follower), firewall_(context.host, context.ledger) {}
  ~HnsOverlay() override { Close(); }

  absl::Status Open() override;
  void Close() override;
  std::optional<LeaseFacts> lease_facts() const override;
  void OnAdapters(const std::vector<host::Adapter>& adapters) override;
  void OnHnsChange() override;
  void RequestSourceVip() override;
  void Poll(control::TimePoint now) override;
  std::string TunnelsText(bool up) const override;
  void AppendChecks(std::vector<admin::Check>& checks) const override;
  void AppendConditions(std::vector<NamedCondition>& out) const override;
  void FillStatus(admin::Status& status) const override;
  void AddMetrics(metrics::Exposition& exposition) const override;

 private:
  admin::HnsStatus ReadStatus() const override;

  // Not before the peers are known, where the rule is for them alone.
  void KeepFirewall(control::TimePoint now);

  TunnelFirewall firewall_;
  std::optional<FirewallSources> sources_;
  // How long the creation of the network kept this node without the management IP, and which
  // creation this is about.
  std::optional<std::chrono::steady_clock::duration> blip_;
  std::optional<std::chrono::steady_clock::time_point> measured_;
  std::optional<IpAddress> awaited_;  // the management IP whose adapter HNS's network waits for
  std::optional<std::chrono::steady_clock::time_point> source_vip_requested_;
};

}  // namespace weft::backend
