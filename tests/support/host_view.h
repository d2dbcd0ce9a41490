// SPDX-License-Identifier: Apache-2.0
// A view of a host with another owner, for code that owns its host. The host outlives the view.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "control/host/host.h"

namespace weft::testing {

class HostView : public host::Host {
 public:
  explicit HostView(host::Host& host) : host_(host) {}

  absl::StatusOr<std::vector<host::Adapter>> Adapters() override { return host_.Adapters(); }
  absl::StatusOr<std::vector<host::Route>> Routes(IpFamily family, std::uint32_t index) override {
    return host_.Routes(family, index);
  }
  absl::StatusOr<std::vector<IpAddress>> NameServers() override { return host_.NameServers(); }
  absl::StatusOr<host::Route> RouteTo(const IpAddress& destination) override {
    return host_.RouteTo(destination);
  }
  absl::Status SetLinkUp(std::uint32_t index, std::uint32_t mtu) override {
    return host_.SetLinkUp(index, mtu);
  }
  absl::StatusOr<host::StaticIp> ReadStaticIp(std::uint32_t index) override {
    return host_.ReadStaticIp(index);
  }
  absl::Status PutStaticIp(std::uint32_t index, const host::StaticIp& settings) override {
    return host_.PutStaticIp(index, settings);
  }
  absl::Status AddAddress(std::uint32_t index, const host::AssignedAddress& address) override {
    return host_.AddAddress(index, address);
  }
  std::vector<absl::Status> PutRoutes(const std::vector<host::Route>& routes) override {
    return host_.PutRoutes(routes);
  }
  std::vector<absl::Status> ReplaceRoutes(const std::vector<host::Route>& routes) override {
    return host_.ReplaceRoutes(routes);
  }
  std::vector<absl::Status> RemoveRoutes(const std::vector<host::Route>& routes) override {
    return host_.RemoveRoutes(routes);
  }
  absl::Status SetForwarding(std::uint32_t index, IpFamily family, bool on) override {
    return host_.SetForwarding(index, family, on);
  }
  absl::StatusOr<bool> Forwarding(std::uint32_t index, IpFamily family) override {
    return host_.Forwarding(index, family);
  }
  absl::StatusOr<std::string> AllowUdpIn(const host::FirewallRule& rule) override {
    return host_.AllowUdpIn(rule);
  }
  absl::StatusOr<host::RuleOwner> FindFirewallRule(const std::string& name) override {
    return host_.FindFirewallRule(name);
  }
  absl::Status RemoveFirewallRule(const std::string& name) override {
    return host_.RemoveFirewallRule(name);
  }
  absl::StatusOr<std::unique_ptr<host::Watch>> WatchChanges(
      std::function<void()> changed) override {
    return host_.WatchChanges(std::move(changed));
  }
  absl::StatusOr<std::unique_ptr<host::Watch>> WatchRoutes(
      std::function<void(const host::RouteChanges&)> changed) override {
    return host_.WatchRoutes(std::move(changed));
  }
  bool is_windows() const override { return host_.is_windows(); }

 private:
  host::Host& host_;
};

}  // namespace weft::testing
