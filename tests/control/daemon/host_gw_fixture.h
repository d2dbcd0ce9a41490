// SPDX-License-Identifier: Apache-2.0
// The daemon of a Windows node under host-gw: a host and an HNS in this process, which changes it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "control/emulator/emulated_node.h"
#include "hns/api/response.h"
#include "hns/bridge_machine.h"
#include "tests/control/daemon/daemon_fixture.h"
#include "tests/support/ethernet_node.h"
#include "tests/support/host_view.h"

namespace weft::daemon {

class HostGwFixture : public DaemonFixture {
 protected:
  class Host final : public weft::testing::HostView {
   public:
    Host(host::Host& host, const bool& refuses_forwarding, const bool& hides_forwarding)
        : HostView(host),
          refuses_forwarding_(refuses_forwarding),
          hides_forwarding_(hides_forwarding) {}
    absl::Status SetForwarding(std::uint32_t index, IpFamily family, bool on) override {
      if (refuses_forwarding_)
        return absl::PermissionDeniedError("cannot switch forwarding on: access denied");
      return HostView::SetForwarding(index, family, on);
    }
    absl::StatusOr<bool> Forwarding(std::uint32_t index, IpFamily family) override {
      if (hides_forwarding_)
        return absl::PermissionDeniedError("cannot read forwarding: access denied");
      return HostView::Forwarding(index, family);
    }

   private:
    const bool& refuses_forwarding_;
    const bool& hides_forwarding_;
  };

  static constexpr char kHostGw[] = R"({"Network":"10.244.0.0/16","Backend":{"Type":"host-gw"}})";
  struct Machine {
    hns::emulator::SystemClock clock;
    emulator::EmulatedNode emulated{clock};
  };

  void SetUp() override {
    DaemonFixture::SetUp();
    Write("net-conf.json", kHostGw);
    config_.conf = control::ParseNetConf(kHostGw, "net-conf.json", control::kHnsDefaults).value();
    config_.options.data_plane = config::DataPlane::kHns;
    config_.hns = {machine_, &machine_->emulated.hns()};
    testing::AddEthernet(host(), {*IpAddress::Parse("192.168.1.10"), 24},
                         *IpAddress::Parse("192.168.1.254"));
  }
  absl::Status StartHere() {
    return Start(std::make_unique<Host>(host(), refuses_forwarding_, hides_forwarding_));
  }
  host::EmulatedHost& host() { return machine_->emulated.host(); }
  hns::emulator::Emulator& hns() { return machine_->emulated.hns(); }

  static Node HostGw(const char* name, const char* subnet, const char* address) {
    return Node(name)
        .Managed()
        .PodCidrs({subnet})
        .Annotation("backend-type", "host-gw")
        .Annotation("backend-data", "null")
        .Annotation("public-ip", address);
  }
  static Node Own(const char* subnet = "10.244.1.0/24") {
    return HostGw("a", subnet, "192.168.1.10");
  }
  static Node Peer(const char* address = "192.168.1.2") {
    return HostGw("b", "10.244.2.0/24", address);
  }

  // Those by a gateway, but for the default one: "10.244.2.0/24 via 192.168.1.2 dev NAME".
  std::vector<std::string> Routes() {
    std::vector<std::string> found;
    const host::HostState state = host().state();
    for (const host::Route& route : state.routes) {
      if (!route.gateway || route.destination.length() == 0) continue;
      std::string text =
          route.destination.ToString() + " via " + route.gateway->ToString() + " dev ";
      for (const host::EmulatedAdapter& each : state.adapters)
        if (each.adapter.index == route.adapter_index) text += each.adapter.name;
      found.push_back(text);
    }
    return found;
  }
  std::vector<std::string> Forwarding() {
    std::vector<std::string> names;
    for (const host::EmulatedAdapter& each : host().state().adapters)
      if (each.forwarding_v4) names.push_back(each.adapter.name);
    return names;
  }
  static std::string Output(const hns::Reply& reply) {
    return hns::ResponseOf("list", reply).value().output;
  }
  std::vector<hns::BridgeNetwork> Networks() {
    return hns::ParseBridgeNetworks(Output(hns().Call("GET", "/networks/", ""))).value();
  }
  std::vector<hns::BridgeEndpoint> Endpoints() {
    return hns::ParseBridgeEndpoints(Output(hns().Call("GET", "/endpoints/", ""))).value();
  }
  // The running daemon's; empty while there is no section.
  std::string HnsState() {
    const admin::Status status = daemon_->ReadStatus();
    return status.hns ? status.hns->state : "";
  }

  const std::shared_ptr<Machine> machine_ = std::make_shared<Machine>();
  bool refuses_forwarding_ = false, hides_forwarding_ = false;
  const std::string route_ = "10.244.2.0/24 via 192.168.1.2 dev vEthernet (Ethernet)";
};

}  // namespace weft::daemon
