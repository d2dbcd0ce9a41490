// SPDX-License-Identifier: Apache-2.0
// A machine with physical adapters and nothing else: enough for HNS alone. No routes, no gaps.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "hns/emulator/host_side.h"

namespace weft::hns::emulator {

// Any thread.
class SimpleHost final : public HostSide {
 public:
  struct Adapter {
    std::string name;
    std::vector<IpAddress> addresses;
    bool usable = true;
    bool is_virtual = false;
  };
  // One adapter "Ethernet" with `address`.
  explicit SimpleHost(const IpAddress& address = IpAddress::V4(0xC0A8'010A));
  explicit SimpleHost(std::vector<Adapter> adapters) : adapters_(std::move(adapters)) {}

  void Add(Adapter adapter);
  void Remove(std::string_view name);  // it was pulled out
  void SetAddresses(std::string_view name, std::vector<IpAddress> addresses);
  bool HasSwitch(std::string_view adapter);
  int switches_made();  // since the beginning
  std::vector<HostEndpoint> endpoints();

  std::optional<PhysicalAdapter> FindByName(std::string_view name) override;
  std::optional<PhysicalAdapter> FindByAddress(const IpAddress& address) override;
  std::optional<PhysicalAdapter> FindDefault() override;
  std::vector<PhysicalAdapter> UsableAdapters() override;
  std::vector<IpAddress> AddressesOf(std::string_view adapter) override;
  void AttachSwitch(std::string_view adapter, const std::string& host_adapter,
                    const SwitchTiming& timing) override;
  void DetachSwitch(std::string_view adapter, const SwitchTiming& timing) override;
  void AttachEndpoint(const HostEndpoint& endpoint) override;
  void DetachEndpoint(const Guid& endpoint) override;

 private:
  std::mutex mutex_;
  std::vector<Adapter> adapters_;
  std::set<std::string, std::less<>> switches_;
  int switches_made_ = 0;
  std::vector<HostEndpoint> endpoints_;
};

}  // namespace weft::hns::emulator
