// SPDX-License-Identifier: Apache-2.0
// The emulated host of another process: `flannelctl hns emulate`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "control/emulator/remote/host_call.h"
#include "control/emulator/remote/remote_client.h"
#include "control/host/host.h"

namespace weft::emulator {

// Any thread. A call that loses the connection returns Unavailable; the next call connects again.
class RemoteHost final : public host::Host {
 public:
  // `path` as RemoteClient takes it. Connects when it is first called.
  explicit RemoteHost(std::string path);

  absl::StatusOr<std::vector<host::Adapter>> Adapters() override;
  absl::StatusOr<std::vector<host::Route>> Routes(IpFamily family,
                                                  std::uint32_t adapter_index = 0) override;
  absl::StatusOr<std::vector<IpAddress>> NameServers() override;
  absl::StatusOr<host::Route> RouteTo(const IpAddress& destination) override;
  absl::Status SetLinkUp(std::uint32_t adapter_index, std::uint32_t mtu) override;
  absl::StatusOr<host::StaticIp> ReadStaticIp(std::uint32_t adapter_index) override;
  absl::Status PutStaticIp(std::uint32_t adapter_index, const host::StaticIp& settings) override;
  absl::Status AddAddress(std::uint32_t adapter_index,
                          const host::AssignedAddress& address) override;
  std::vector<absl::Status> PutRoutes(const std::vector<host::Route>& routes) override;
  std::vector<absl::Status> ReplaceRoutes(const std::vector<host::Route>& routes) override;
  std::vector<absl::Status> RemoveRoutes(const std::vector<host::Route>& routes) override;
  absl::Status SetForwarding(std::uint32_t adapter_index, IpFamily family, bool on) override;
  absl::StatusOr<bool> Forwarding(std::uint32_t adapter_index, IpFamily family) override;
  absl::StatusOr<std::string> AllowUdpIn(const host::FirewallRule& rule) override;
  absl::StatusOr<host::RuleOwner> FindFirewallRule(const std::string& name) override;
  absl::Status RemoveFirewallRule(const std::string& name) override;
  // The loss of the connection is reported as a change, and so is a new connection.
  absl::StatusOr<std::unique_ptr<host::Watch>> WatchChanges(std::function<void()> changed) override;
  bool is_windows() const override { return true; }

 private:
  class RemoteWatch;

  // The status is that of the connection or of the host.
  HostAnswer Send(const HostCall& call);
  std::vector<absl::Status> SendRoutes(HostOperation operation,
                                       const std::vector<host::Route>& routes);

  // Watches outlive the host that made them.
  const std::shared_ptr<hns::emulator::RemoteClient> client_;
};

}  // namespace weft::emulator
