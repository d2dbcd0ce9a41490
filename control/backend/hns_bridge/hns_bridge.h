// SPDX-License-Identifier: Apache-2.0
// host-gw through HNS: the L2Bridge network with the host's endpoint in it, and forwarding on the
// host's adapters between which the pods' packets go. HNS creates these adapters, so the host
// routes are opened once this is up. As a follower it receives the desired state and nothing waits
// for it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "control/backend/hns_network.h"
#include "control/sinks/keeper_thread.h"
#include "hns/bridge_machine.h"

namespace weft::backend {

// `plan` has IPv4. The error: the PodCIDR has no room for the host's own endpoint. Pure.
absl::StatusOr<hns::BridgeSpec> BridgeFor(const NodePlan& plan, const config::Options& options,
                                          const control::NetConf& conf,
                                          const std::vector<host::Adapter>& adapters);

// Names a default route of `endpoint`'s adapter that the host's own one does not precede. Pure.
std::string SecondDefaultRoute(const IpAddress& endpoint, const underlay::HostFacts& host);

// Its destructor changes nothing in HNS, and leaves forwarding on.
class HnsBridge final
    : public HnsNetwork<control::KeeperThread<hns::BridgeKeeper, hns::BridgeOutcome>,
                        hns::BridgeSpec, BridgeFor> {
 public:
  using HnsNetwork::HnsNetwork;
  ~HnsBridge() override { Close(); }

  // Switches forwarding on where it is off, as on adapters that HNS has created again.
  void Inspect(const underlay::HostFacts& host) override;
  absl::Status Open() override;
  bool IsUp() const override;
  void Close() override { keeper_.reset(); }
  std::optional<LeaseFacts> lease_facts() const override;
  void OnHnsChange() override;
  void AppendChecks(std::vector<admin::Check>& checks) const override;
  void AppendConditions(std::vector<NamedCondition>& out) const override;

 private:
  using State = control::KeeperState<hns::BridgeOutcome>;
  std::string Unforwarded(const State& state) const;
  std::string ForwardingOn(const IpAddress& address, const std::vector<host::Adapter>& adapters);
  // Switches it off again on adapters where we switched it on for an address that has moved since:
  // while HNS creates its adapters, the NIC briefly has the node's address.
  void ForwardingOff(const std::set<IpAddress>& addresses,
                     const std::vector<host::Adapter>& adapters);
  admin::HnsStatus ReadStatus() const override;

  // As of the last Inspect: the endpoint with which forwarding was checked, and why it is off
  // (empty: it is on).
  std::optional<hns::Guid> forwarded_;
  std::string forwarding_;
  std::set<std::uint32_t> switched_on_;  // adapter indices, by us
  // An adapter has the endpoint's address, as last passed to the keeper.
  bool adapter_present_ = true;
  control::Condition network_condition_;  // what the network lacks, for the log
  control::Condition second_default_;
};

}  // namespace weft::backend
