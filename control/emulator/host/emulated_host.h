// SPDX-License-Identifier: Apache-2.0
// A Windows host in memory, for development and tests: the parts that Wine lacks (routes,
// forwarding, firewall), and the effects of HNS on a host.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/emulator/host/host_state.h"
#include "control/host/host.h"

namespace weft::host {

// Any thread. Watchers are called on the thread that makes a change, or that applies a timed one.
class EmulatedHost final : public Host {
 public:
  using Now = std::function<Milliseconds()>;
  // `now` defaults to wall time.
  explicit EmulatedHost(HostState state = {}, Now now = {});
  ~EmulatedHost() override;

  HostState state() const;
  void Replace(HostState state);

  // ---- events on a host

  // The index, chosen if zero.
  std::uint32_t AddAdapter(Adapter adapter, bool usable = true, std::string endpoint = "");
  void Unplug(std::string_view name);  // removes it with its addresses and routes
  void Plug(std::string_view name);
  void SetUp(std::string_view name, bool up);
  void SetAddresses(std::string_view name, std::vector<AssignedAddress> addresses);
  // Instead of the static settings that the adapter has.
  void SetStaticIp(std::string_view name, StaticIp settings);
  void Rename(std::string_view name, std::string to);
  // HNS creates the first external network on `adapter`: its addresses, and the routes from DHCP
  // (the default routes), move to a new adapter `host_adapter`, which has the same MAC, another
  // index, no forwarding, and is visible after `new_interface`. Other routes are lost. The host is
  // unreachable for `gap`. For `link_local` the new adapter's IPv4 address is one of 169.254/16,
  // and it has no routes via gateways. What `lost` names of the static settings stays with
  // `adapter`, which has it again once the switch is deleted.
  void BindSwitch(std::string_view adapter, std::string host_adapter, Milliseconds gap,
                  Milliseconds new_interface, Milliseconds link_local = Milliseconds(0),
                  StaticIpLoss lost = StaticIpLoss::kNothing);
  // From now on Adapters omits adapters that are bound to a switch, as GetAdaptersAddresses may,
  // because they have no IP.
  void HideBoundAdapters(bool hide);
  // HNS deletes the last network: everything moves back, with the same losses.
  void UnbindSwitch(std::string_view adapter, Milliseconds gap, Milliseconds new_interface);
  // The firewall's service returns 0x800706D9 for this time, as it does after a boot until it runs
  // (assumed).
  void StopFirewall(Milliseconds how_long);
  void RemoveAdapter(std::string_view name);
  void RemoveEndpoint(std::string_view endpoint);  // its adapter
  // Static routes are lost; DHCP restores the default routes.
  void Reboot();
  bool Reachable() const;  // no gap is in progress

  // ---- Host

  absl::StatusOr<std::vector<Adapter>> Adapters() override;
  absl::StatusOr<std::vector<Route>> Routes(IpFamily family, std::uint32_t adapter_index) override;
  absl::StatusOr<std::vector<IpAddress>> NameServers() override;
  absl::StatusOr<Route> RouteTo(const IpAddress& destination) override;
  absl::Status SetLinkUp(std::uint32_t adapter_index, std::uint32_t mtu) override;
  absl::StatusOr<StaticIp> ReadStaticIp(std::uint32_t adapter_index) override;
  absl::Status PutStaticIp(std::uint32_t adapter_index, const StaticIp& settings) override;
  absl::Status AddAddress(std::uint32_t adapter_index, const AssignedAddress& address) override;
  std::vector<absl::Status> PutRoutes(const std::vector<Route>& routes) override;
  std::vector<absl::Status> ReplaceRoutes(const std::vector<Route>& routes) override;
  std::vector<absl::Status> RemoveRoutes(const std::vector<Route>& routes) override;
  absl::Status SetForwarding(std::uint32_t adapter_index, IpFamily family, bool on) override;
  absl::StatusOr<bool> Forwarding(std::uint32_t adapter_index, IpFamily family) override;
  absl::StatusOr<std::string> AllowUdpIn(const FirewallRule& rule) override;
  absl::StatusOr<RuleOwner> FindFirewallRule(const std::string& name) override;
  absl::Status RemoveFirewallRule(const std::string& name) override;
  absl::StatusOr<std::unique_ptr<Watch>> WatchChanges(std::function<void()> changed) override;
  bool is_windows() const override { return true; }

 private:
  class Registration;
  struct Watchers;

  bool Visible(const EmulatedAdapter& adapter) const;
  bool IsBound(const EmulatedAdapter& adapter) const;  // to a switch
  bool IsLinkLocal(const EmulatedAdapter& adapter) const;
  std::vector<AssignedAddress> AddressesOf(const EmulatedAdapter& adapter) const;
  absl::Status CheckFirewall(std::string_view what, const std::string& rule) const;
  // Null if no such adapter is visible.
  EmulatedAdapter* Find(std::uint32_t index);
  EmulatedAdapter* FindNamed(std::string_view name);
  bool OnLink(std::uint32_t adapter_index, const IpAddress& gateway) const;
  void MoveInterface(EmulatedAdapter& from, EmulatedAdapter& to);
  void EraseRoutes(const EmulatedAdapter& of);  // of IPv4
  absl::Status PutOne(const Route& route, bool replaces);
  std::vector<absl::Status> PutAll(const std::vector<Route>& routes, bool replaces);
  void NotifyWatchers() const;
  void Change(const auto& change) {
    {
      const std::lock_guard lock(mutex_);
      change();
    }
    NotifyWatchers();
  }
  // If it exists.
  void ChangeAdapter(std::string_view name, const auto& change) {
    Change([&] {
      if (EmulatedAdapter* const found = FindNamed(name)) change(*found);
    });
  }

  mutable std::mutex mutex_;
  HostState state_;
  bool hides_bound_ = false;
  Now now_;
  std::shared_ptr<Watchers> watchers_;
};

}  // namespace weft::host
