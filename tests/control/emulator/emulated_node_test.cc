// SPDX-License-Identifier: Apache-2.0
// Effects of HNS on the host, read from the host; and the text of both.
#include "control/emulator/emulated_node.h"

#include <filesystem>
#include <fstream>

#include "control/emulator/host/host_side.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/emulator_clock.h"
#include "tests/support/ethernet_node.h"
#include "tests/support/lease_makers.h"
#include "tests/support/test_path.h"

namespace weft::emulator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::weft::testing::Address;
using ::weft::testing::Prefix;

constexpr char kOverlay[] =
    R"({"Name":"flannel.4096","Type":"Overlay","Flags":8,"SchemaVersion":{"Major":2,"Minor":0},
    "Policies":[{"Type":"NetAdapterName","Settings":{"NetworkAdapterName":"Ethernet"}}],
    "Ipams":[{"Type":"Static","Subnets":[{"IpAddressPrefix":"10.244.3.0/24",
    "Policies":[{"Type":"VSID","Settings":{"IsolationId":4096}}],
    "Routes":[{"NextHop":"10.244.3.1","DestinationPrefix":"0.0.0.0/0"}]}]}]})";

// Ethernet with 192.168.1.10/24; a switch's interface comes after 5 s, connections after 30.
class EmulatedNodeTest : public ::testing::Test {
 protected:
  EmulatedNodeTest() {
    testing::AddEthernet(node.host(), {Address("192.168.1.10"), 24}, Address("192.168.1.1"));
  }
  static hns::emulator::Settings Slow() {
    hns::emulator::Settings settings;
    settings.new_interface = std::chrono::seconds(5);
    settings.gap = std::chrono::seconds(30);
    return settings;
  }
  hns::Reply Create() {
    return node.hns().Create(hns::Kind::kNetwork, hns::Handle::kNone, hns::Guid(), kOverlay);
  }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    const auto adapters = node.host().Adapters();
    for (const host::Adapter& adapter : *adapters) names.push_back(adapter.name);
    return names;
  }

  weft::testing::EmulatorClock clock;
  EmulatedNode node{clock, Slow()};
};

TEST_F(EmulatedNodeTest, TheFirstNetworkMovesTheAddressToTheSwitchsInterface) {
  ASSERT_TRUE(Create().ok());
  EXPECT_FALSE(node.host().Reachable());
  clock.Sleep(std::chrono::seconds(5));
  EXPECT_THAT(Names(), ElementsAre("Ethernet", "vEthernet (Ethernet)"));
  const auto way = node.host().RouteTo(Address("192.168.1.7"));
  ASSERT_TRUE(way.ok()) << way.status();
  EXPECT_EQ(way->adapter_index, 11u);
  clock.Sleep(std::chrono::seconds(25));
  EXPECT_TRUE(node.host().Reachable());
}

TEST_F(EmulatedNodeTest, AnEndpointOfTheHostIsAnAdapterOfIt) {
  hns::emulator::HostSide side(node.host());
  hns::emulator::HostEndpoint endpoint;
  endpoint.id = *hns::Guid::Parse("55fedb88-4b11-4da4-8cd1-59970718a804");
  endpoint.name = "cbr0_ep";
  endpoint.address = Address("10.244.3.2");
  endpoint.prefix_length = 24;
  side.AttachEndpoint(endpoint);
  EXPECT_THAT(Names(), ElementsAre("Ethernet", "vEthernet (cbr0_ep)"));
  EXPECT_EQ(side.FindByName("vEthernet (cbr0_ep)"), std::nullopt);
  side.DetachEndpoint(endpoint.id);
  EXPECT_THAT(Names(), ElementsAre("Ethernet"));
}

TEST_F(EmulatedNodeTest, WithoutADefaultRouteTheFirstUsableAdapterIsTheDefault) {
  const auto routes = node.host().Routes(IpFamily::kV4, 0);
  ASSERT_TRUE(routes.ok()) << routes.status();
  for (const absl::Status& status : node.host().RemoveRoutes(*routes))
    ASSERT_EQ(status, absl::OkStatus());
  hns::emulator::HostSide side(node.host());
  ASSERT_TRUE(side.FindDefault().has_value());
  EXPECT_EQ(side.FindDefault()->name, "Ethernet");
}

// Before "LAN" the host has a loopback, an adapter that cannot carry a switch, one that was pulled
// out and an endpoint's adapter under another name.
TEST_F(EmulatedNodeTest, OnlyAPresentPhysicalAdapterCarriesASwitch) {
  host::EmulatedHost machine;
  const auto add = [&](const char* name, const char* address, bool loopback, bool usable,
                       std::string endpoint) {
    host::Adapter adapter;
    adapter.name = name;
    adapter.loopback = loopback;
    adapter.addresses = {{Address(address), 24}};
    return machine.AddAdapter(adapter, usable, std::move(endpoint));
  };
  add("Loopback", "127.0.0.1", true, true, "");
  add("Team member", "10.1.0.1", false, false, "");
  add("Dock", "10.2.0.1", false, true, "");
  machine.Unplug("Dock");
  add("Renamed", "10.3.0.1", false, true, "55fedb88-4b11-4da4-8cd1-59970718a804");
  const std::uint32_t lan = add("LAN", "10.4.0.1", false, true, "");
  const std::uint32_t storage = add("Storage", "10.5.0.1", false, true, "");
  hns::emulator::HostSide side(machine);
  EXPECT_EQ(side.FindByName("Loopback"), std::nullopt);
  EXPECT_EQ(side.FindByName("Dock"), std::nullopt);
  EXPECT_EQ(side.FindByAddress(Address("10.2.0.1")), std::nullopt);
  machine.SetAddresses("Storage", {{Address("10.5.0.1"), 24}, {Address("10.2.0.1"), 24}});
  ASSERT_TRUE(side.FindByAddress(Address("10.2.0.1")).has_value());
  EXPECT_EQ(side.FindByAddress(Address("10.2.0.1"))->name, "Storage");
  ASSERT_TRUE(side.FindByName("Renamed").has_value());
  EXPECT_TRUE(side.FindByName("Renamed")->is_virtual);
  EXPECT_THAT(side.AddressesOf("LAN"), ElementsAre(Address("10.4.0.1")));
  ASSERT_EQ(side.UsableAdapters().size(), 2u);
  EXPECT_EQ(side.UsableAdapters()[0].name, "LAN");
  ASSERT_TRUE(side.FindDefault().has_value());
  EXPECT_EQ(side.FindDefault()->name, "LAN");

  // Only the IPv4 default route decides, not another route of a lower metric.
  host::HostState state = machine.state();
  const auto put = [&](const char* destination, std::uint32_t adapter, std::uint32_t metric) {
    host::Route route;
    route.destination = Prefix(destination);
    route.adapter_index = adapter;
    route.metric = metric;
    state.routes.push_back(route);
  };
  put("::/0", lan, 1);
  put("10.8.0.0/16", lan, 1);
  put("0.0.0.0/0", lan, 20);
  put("0.0.0.0/0", storage, 10);
  put("0.0.0.0/0", lan, 30);
  machine.Replace(state);
  ASSERT_TRUE(side.FindDefault().has_value());
  EXPECT_EQ(side.FindDefault()->name, "Storage");
}

TEST_F(EmulatedNodeTest, TheDefaultRouteLeadsToThePhysicalAdapterBehindASwitchToo) {
  hns::emulator::HostSide side(node.host());
  EXPECT_EQ(side.FindDefault()->name, "Ethernet");
  ASSERT_TRUE(Create().ok());
  EXPECT_EQ(side.FindDefault()->name, "Ethernet");
  EXPECT_EQ(side.FindByAddress(Address("192.168.1.10"))->name, "Ethernet");
  EXPECT_THAT(side.AddressesOf("Ethernet"), IsEmpty()) << "not there yet";
  clock.Sleep(std::chrono::seconds(5));
  EXPECT_THAT(side.AddressesOf("Ethernet"), ElementsAre(Address("192.168.1.10")));
}

TEST_F(EmulatedNodeTest, TheSwitchsInterfaceMayHaveAnyName) {
  hns::emulator::HostSide side(node.host());
  for (const char* pattern : {"vEthernet (*) 2", "Adapter - Virtual Switch"}) {
    hns::emulator::Settings settings = node.hns().settings();
    settings.host_adapter = pattern;
    node.hns().Set(settings);
    ASSERT_TRUE(Create().ok());
    clock.Sleep(std::chrono::seconds(5));
    const std::string name = hns::emulator::HostAdapterName("Ethernet", pattern);
    EXPECT_THAT(Names(), ElementsAre("Ethernet", name));
    std::string on_it = kOverlay;
    on_it.replace(on_it.find("\"Ethernet\""), 10, "\"" + name + "\"");
    on_it.replace(on_it.find("flannel.4096"), 12, "another");
    EXPECT_EQ(node.hns().Create(hns::Kind::kNetwork, hns::Handle::kNone, hns::Guid(), on_it).code,
              hns::hresult::kInvalidArgument);
    EXPECT_EQ(side.FindByAddress(Address("192.168.1.10"))->name, "Ethernet");
    EXPECT_EQ(side.UsableAdapters().size(), 1u);
    node.hns().Reboot();
    clock.Sleep(std::chrono::seconds(5));
    EXPECT_THAT(Names(), ElementsAre("Ethernet"));
  }
}

TEST_F(EmulatedNodeTest, TheManagementIpMayBeShownBeforeItsInterface) {
  const auto shown = [&] {
    const std::string text = node.hns().Call("GET", "/networks/", "").text;
    return text.find("\"ManagementIP\":\"192.168.1.10\"") != std::string::npos;
  };
  ASSERT_TRUE(Create().ok());
  EXPECT_FALSE(shown());
  hns::emulator::Settings settings = node.hns().settings();
  settings.management_ip_early = true;
  node.hns().Set(settings);
  EXPECT_TRUE(shown());
  EXPECT_THAT(Names(), ElementsAre("Ethernet"));
}

TEST_F(EmulatedNodeTest, AddressAndManagementIpMayBeLinkLocalFirst) {
  hns::emulator::Settings settings = Slow();
  settings.link_local = std::chrono::seconds(20);
  node.hns().Set(settings);
  ASSERT_TRUE(Create().ok());
  clock.Sleep(std::chrono::seconds(5));
  const auto management_ip = [&] {
    const std::string text = node.hns().Call("GET", "/networks/", "").text;
    const std::string key = "\"ManagementIP\":\"";
    const std::size_t at = text.find(key);
    return at == std::string::npos ? "" : text.substr(at + key.size(), 11);
  };
  EXPECT_EQ(management_ip(), "169.254.149");
  EXPECT_EQ((*node.host().Adapters())[1].addresses[0].address.ToString(), "169.254.149.216");
  clock.Sleep(std::chrono::seconds(15));
  EXPECT_EQ(management_ip(), "192.168.1.1");
  EXPECT_EQ((*node.host().Adapters())[1].addresses[0].address.ToString(), "192.168.1.10");
}

TEST_F(EmulatedNodeTest, ItsTextReadsBackIntoAnother) {
  ASSERT_TRUE(Create().ok());
  EmulatedNode other(clock);
  ASSERT_EQ(other.Read(node.Text()), absl::OkStatus());
  EXPECT_EQ(other.Text(), node.Text());
  EXPECT_EQ(other.Read(""), absl::OkStatus());
  EXPECT_EQ(other.host().state(), host::HostState());
}

TEST_F(EmulatedNodeTest, UnreadableTextChangesNothing) {
  const std::string before = node.Text();
  const std::string deep =
      R"({"x": )" + std::string(70, '[') + std::string(70, ']') + R"(, "y": 1})";
  for (const char* text : {"{", "7", R"({"host": {"adapters": 7}})", R"({"hns": 7})", deep.c_str()})
    EXPECT_FALSE(node.Read(text).ok()) << text;
  EXPECT_EQ(node.Text(), before);
}

TEST_F(EmulatedNodeTest, ARebootRemovesNetworkAndRoutes) {
  ASSERT_TRUE(Create().ok());
  clock.Sleep(std::chrono::seconds(60));
  host::Route route;
  route.destination = Prefix("10.244.9.0/24");
  route.gateway = Address("192.168.1.9");
  route.adapter_index = 11;
  ASSERT_TRUE(node.host().PutRoutes({route})[0].ok());
  node.Reboot();
  clock.Sleep(std::chrono::seconds(60));
  EXPECT_THAT(Names(), ElementsAre("Ethernet"));
  EXPECT_EQ(node.host().Routes(IpFamily::kV4, 0)->size(), 1u) << "the default route";
}

class NodeFileTest : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(path_); }

  weft::testing::EmulatorClock clock_;
  EmulatedNode node_{clock_}, other_{clock_};
  const std::string path_ = weft::testing::TestPath().string();
};

TEST_F(NodeFileTest, ANodeOutlivesItsProcess) {
  NodeFile file(node_, path_);
  ASSERT_EQ(file.Open(), absl::OkStatus());
  testing::AddEthernet(node_.host(), {Address("192.168.1.10"), 24}, Address("192.168.1.1"));
  EXPECT_EQ(file.Save(), absl::OkStatus());
  ASSERT_EQ(NodeFile(other_, path_).Open(), absl::OkStatus());
  EXPECT_EQ(other_.Text(), node_.Text());
  node_.hns().TakeName("ghost");
  EXPECT_EQ(file.Save(), absl::OkStatus());
  ASSERT_EQ(NodeFile(other_, path_).Open(), absl::OkStatus());
  EXPECT_EQ(other_.Text(), node_.Text());
}

// Also for a refused batch.
TEST_F(NodeFileTest, APartlyAppliedCallIsSaved) {
  NodeFile file(node_, path_);
  hns::emulator::Settings settings;
  settings.atomic_batches = false;
  node_.hns().Set(settings);
  const hns::Reply network = node_.hns().Create(hns::Kind::kNetwork, hns::Handle::kNone,
                                                hns::Guid(), R"({"Type":"Internal","Name":"n"})");
  ASSERT_EQ(file.Open(), absl::OkStatus());
  EXPECT_FALSE(
      node_.hns()
          .Modify(hns::Kind::kNetwork, network.handle,
                  R"({"ResourceType":"Policy","RequestType":"Add","Settings":{"Policies":[)"
                  R"({"Type":"AutomaticDNS","Settings":{"Enable":true}},)"
                  R"({"Type":"Unknown","Settings":{}}]}})")
          .ok());
  ASSERT_EQ(file.Save(), absl::OkStatus());
  ASSERT_EQ(NodeFile(other_, path_).Open(), absl::OkStatus());
  EXPECT_EQ(other_.Text(), node_.Text());
  EXPECT_THAT(other_.Text(), HasSubstr("AutomaticDNS"));
}

TEST_F(NodeFileTest, WithoutAChangeNothingIsWritten) {
  NodeFile file(node_, path_);
  ASSERT_EQ(file.Open(), absl::OkStatus());
  std::filesystem::remove(path_);
  EXPECT_EQ(file.Save(), absl::OkStatus());
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(NodeFileTest, AFileThatCannotBeReadOrWrittenIsNamed) {
  const auto open = [&](const std::string& path) {
    return std::string(NodeFile(node_, path).Open().message());
  };
  EXPECT_THAT(open(path_ + "/no/node.json"), HasSubstr("cannot write " + path_));
  std::ofstream(path_) << R"({"hns":)";
  EXPECT_THAT(open(path_), HasSubstr(path_ + ": emulated node: it is no JSON object"));
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_THAT(open(path_), HasSubstr("cannot read " + path_));
}

}  // namespace
}  // namespace weft::emulator
