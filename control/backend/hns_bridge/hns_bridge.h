// SPDX-License-Identifier: Apache-2.0
// host-gw through HNS: the L2Bridge network with the host's endpoint in it, and forwarding on the
// host's adapters between which the pods' packets go. HNS creates these adapters, so the host
// routes are opened once this is up. As a follower it receives the desired state and nothing waits
// for it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "control/backend/backend.h"
#include "control/sinks/keeper_thread.h"
#include "hns/bridge_keeper.h"

namespace weft::backend {

// `plan` has IPv4. The error: the PodCIDR has no room for the host's own endpoint. Pure.
absl::StatusOr<hns::BridgeWish> BridgeFor(const NodePlan& plan, const config::Options& options,
                                          const control::NetConf& conf,
                                          const std::vector<host::Adapter>& adapters);

// Its end changes nothing in HNS, and leaves forwarding on.
class HnsBridge final : public Backend {
 public:
  HnsBridge(const Context& context, bool follower) : context_(context), follower_(follower) {}

  absl::Status Configure(const NodePlan& plan, const underlay::HostFacts& host) override;
  // Switches forwarding on where it is off: adapters that HNS creates again have lost it.
  void Inspect(const underlay::HostFacts& host) override;
  absl::Status Open() override;
  bool IsComplete() const override { return thread_ ? desired_ == wish_ : !desired_; }
  bool IsUp() const override;
  void Close() override { thread_.reset(); }
  std::optional<LeaseFacts> lease_facts() const override;
  void OnHnsChange() override;
  void Poll(control::TimePoint now) override;
  bool RequestPlan(bool repair, const PlanReply& reply) override;
  void AppendChecks(std::vector<admin::Check>& checks) const override;
  void AppendConditions(std::vector<NamedCondition>& out) const override;
  void FillStatus(admin::Status& status) const override;

 private:
  using Thread = control::KeeperThread<hns::BridgeKeeper, hns::BridgeOutcome>;
  using State = control::KeeperState<hns::BridgeOutcome>;
  std::string Unforwarded(const State& state) const;
  std::string ForwardingOn(const IpAddress& address, const std::vector<host::Adapter>& adapters);
  // Again, where we switched it on for an address that has moved on since: while HNS creates its
  // adapters, the NIC has the node's for a moment.
  void ForwardingOff(const std::set<IpAddress>& addresses,
                     const std::vector<host::Adapter>& adapters);
  admin::HnsStatus ReadStatus() const;

  const Context& context_;
  const bool follower_;
  std::optional<hns::BridgeWish> desired_;  // empty: the plan has no IPv4
  hns::BridgeWish wish_;                    // the keeper's
  // As of the last Inspect: next to which endpoint forwarding is on, and why it is not.
  std::optional<hns::Guid> forwarded_;
  std::string forwarding_;
  std::set<std::uint32_t> switched_on_;  // adapters, by us
  bool adapter_there_ = true;  // with the endpoint's address, as the keeper was last informed
  // A call into HNS takes too long, or never came back; and what the network lacks, for the log.
  control::Trouble condition_, network_condition_;
  std::unique_ptr<Thread> thread_;  // last: its end is first
};

}  // namespace weft::backend
