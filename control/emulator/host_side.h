// SPDX-License-Identifier: Apache-2.0
// What the emulated HNS does to the emulated host.
#pragma once

#include "control/host/emulator.h"
#include "hns/emulator/host_side.h"

namespace weft::emulator {

// Any thread. `host` outlives it and may be changed beside it.
class EmulatedHostSide final : public hns::emulator::HostSide {
 public:
  explicit EmulatedHostSide(host::EmulatedHost& host) : host_(host) {}

  std::optional<hns::emulator::PhysicalAdapter> FindByName(std::string_view name) override;
  std::optional<hns::emulator::PhysicalAdapter> FindByAddress(const IpAddress& address) override;
  std::optional<hns::emulator::PhysicalAdapter> FindDefault() override;
  std::vector<hns::emulator::PhysicalAdapter> UsableAdapters() override;
  std::vector<IpAddress> AddressesOf(std::string_view adapter) override;
  void AttachSwitch(std::string_view adapter, const std::string& host_adapter,
                    const hns::emulator::SwitchTiming& timing) override;
  void DetachSwitch(std::string_view adapter, const hns::emulator::SwitchTiming& timing) override;
  void AttachEndpoint(const hns::emulator::HostEndpoint& endpoint) override;
  void DetachEndpoint(const hns::Guid& endpoint) override;

 private:
  host::EmulatedHost& host_;
};

}  // namespace weft::emulator
