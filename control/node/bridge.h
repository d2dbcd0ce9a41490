// SPDX-License-Identifier: Apache-2.0
// host-gw through HNS: the L2Bridge network with the host's endpoint in it, and forwarding on the
// host's adapters between which the pods' packets go. Peers' routes are a HostRouteSink's, which
// begins once this stands.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "control/admin/schema.h"
#include "control/host/host.h"
#include "control/sinks/keeper_thread.h"
#include "control/trouble.h"
#include "hns/api/api.h"
#include "hns/bridge_machine.h"

namespace weft::node {

// Control thread. Its end changes nothing in HNS, and leaves forwarding on.
class Bridge {
 public:
  // `host` outlives it. `on_change`: there is something for Changed; on the HNS thread.
  // `journal`: of what is made; null: no journal.
  Bridge(host::Host& host, std::shared_ptr<hns::Api> api, const hns::BridgeWish& wish,
         std::function<void()> on_change, std::shared_ptr<hns::Journal> journal = nullptr);

  void SetWish(const hns::BridgeWish& wish);
  const hns::BridgeWish& wish() const { return wish_; }
  // On the HNS thread, in its next round.
  void Ask(std::function<void(hns::BridgeKeeper&)> question) { thread_.Ask(std::move(question)); }
  void Changed();
  // Switches forwarding on where it is off. At each look at the host: adapters that HNS makes anew
  // have forgotten it.
  void Forward(const std::vector<host::Adapter>& adapters);
  // By the owner about every second; see RoundThread.
  std::string Look(control::RoundThread::Clock::time_point now) { return thread_.Look(now); }

  // HNS's, as of the last round; empty: not given yet.
  std::optional<IpAddress> management_ip() const { return thread_.State().outcome.management_ip; }
  // As of the last round and the last Forward.
  bool stands() const;
  std::string Sentence() const;  // for people: that it stands, or what it waits for and why
  admin::HnsStatus Status() const;

 private:
  using State = control::KeeperState<hns::BridgeOutcome>;
  static bool Holds(const State& state);
  std::string Unforwarded(const State& state) const;
  std::string ForwardingOn(const IpAddress& address, const std::vector<host::Adapter>& adapters);
  // Again, where we switched it on for an address that has moved on since: while HNS makes its
  // adapters, the NIC has the node's for a moment.
  void ForwardingOff(const std::set<IpAddress>& addresses,
                     const std::vector<host::Adapter>& adapters);

  host::Host& host_;
  hns::BridgeWish wish_;
  // As of the last Forward: beside which endpoint, and why it is not on.
  std::optional<hns::Guid> forwarded_;
  std::string forwarding_;
  std::set<std::uint32_t> switched_on_;  // adapters, by us
  bool adapter_there_ = true;  // with the endpoint's address, as the keeper was last informed
  control::Trouble trouble_;
  control::KeeperThread<hns::BridgeKeeper, hns::BridgeOutcome> thread_;  // last: it begins at once
};

}  // namespace weft::node
