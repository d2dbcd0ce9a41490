// SPDX-License-Identifier: Apache-2.0
// The emulated host for its contract.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "control/emulator/host/emulated_host.h"
#include "tests/contract/host_contract.h"

namespace weft::testing {

class EmulatorRig : public HostRig {
 public:
  EmulatorRig() {
    host::Adapter ethernet;
    ethernet.name = "Ethernet";
    ethernet.mtu = 1400;
    ethernet.up = true;
    ethernet.mac = Mac("02:00:00:00:09:01");
    ethernet.addresses = {{Address("10.9.0.1"), 24}, {Address("fd09::1"), 64}};
    host_.AddAdapter(ethernet);
  }
  host::Host& host() override { return host_; }
  host::EmulatedHost& emulated() { return host_; }
  std::string adapter() override { return "Ethernet"; }
  void GiveAddress(std::string_view assigned) override {
    std::vector<host::AssignedAddress> addresses = Addresses();
    addresses.push_back(Assigned(assigned));
    host_.SetAddresses("Ethernet", addresses);
  }
  void TakeAddress(std::string_view assigned) override {
    std::vector<host::AssignedAddress> addresses = Addresses();
    std::erase(addresses, Assigned(assigned));
    host_.SetAddresses("Ethernet", addresses);
  }
  void SetUp(bool up) override { host_.SetUp("Ethernet", up); }
  void PutDefaultRoute(std::string_view gateway) override {
    host::Route route;
    route.gateway = Address(gateway);
    route.adapter_index = host_.state().adapters[0].adapter.index;
    EXPECT_TRUE(host_.PutRoutes({route})[0].ok());
  }

 private:
  std::vector<host::AssignedAddress> Addresses() const {
    return host_.state().adapters[0].adapter.addresses;
  }
  static host::AssignedAddress Assigned(std::string_view text) {
    return {Address(text.substr(0, text.find('/'))), Prefix(text).length()};
  }
  host::EmulatedHost host_;
};

}  // namespace weft::testing
