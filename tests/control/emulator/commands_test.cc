// SPDX-License-Identifier: Apache-2.0
// The commands of a user to the emulated node.
#include "control/emulator/commands.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/emulator_clock.h"
#include "tests/support/ethernet_node.h"
#include "tests/support/lease_makers.h"

namespace weft::emulator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::weft::testing::Address;
using ::weft::testing::Prefix;
using Json = nlohmann::json;

class NodeCommandsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::AddEthernet(node_.host(), {Address("192.168.1.10"), 24}, Address("192.168.1.1"));
  }
  void Do(const char* command) {
    const hns::Reply reply = Command(node_, command);
    EXPECT_TRUE(reply.ok()) << reply.error_record;
  }
  host::Adapter First() { return node_.host().state().adapters.at(0).adapter; }
  std::vector<host::Route> Routes() { return *node_.host().Routes(IpFamily::kV4, 0); }

  testing::EmulatorClock clock_;
  EmulatedNode node_{clock_};
};

TEST_F(NodeCommandsTest, AnAdapterIsRenamedPulledOutAndGivenAddresses) {
  Do(R"({"command":"rename","adapter":"Ethernet","to":"LAN"})");
  EXPECT_EQ(First().name, "LAN");
  Do(R"({"command":"unplug","adapter":"LAN"})");
  EXPECT_THAT(*node_.host().Adapters(), IsEmpty());
  Do(R"({"command":"plug","adapter":"LAN"})");
  Do(R"({"command":"link","adapter":"LAN","up":false})");
  EXPECT_FALSE(First().up);
  Do(R"({"command":"set-addresses","adapter":"LAN","addresses":"192.168.1.77,fd00::77/48"})");
  EXPECT_THAT(First().addresses, ElementsAre(host::AssignedAddress{Address("192.168.1.77"), 24},
                                             host::AssignedAddress{Address("fd00::77"), 48}));
}

TEST_F(NodeCommandsTest, AnAdministratorSetsStaticIpSettings) {
  Do(R"({"command":"set-static-ip","adapter":"Ethernet","addresses":"192.168.1.20/24",
         "name_servers":"192.168.1.53,192.168.1.54","metric":5})");
  const host::StaticIp settings{
      {{Address("192.168.1.20"), 24}}, {Address("192.168.1.53"), Address("192.168.1.54")}, 5u};
  EXPECT_EQ(*node_.host().ReadStaticIp(First().index), settings);
  Do(R"({"command":"set-static-ip","adapter":"Ethernet"})");
  EXPECT_EQ(*node_.host().ReadStaticIp(First().index), host::StaticIp());
  for (const char* field : {R"("metric":"low")", R"("metric":4294967296)", R"("name_servers":"a")",
                            R"("addresses":"a")"}) {
    const std::string command =
        absl::StrCat(R"({"command":"set-static-ip","adapter":"Ethernet",)", field, "}");
    EXPECT_FALSE(Command(node_, command).ok()) << field;
  }
}

TEST_F(NodeCommandsTest, AnAdapterIsAddedAndRemoved) {
  Do(R"({"command":"add-adapter","adapter":"Storage","addresses":"10.0.0.10/8"})");
  const auto adapters = *node_.host().Adapters();
  ASSERT_EQ(adapters.size(), 2u);
  EXPECT_EQ(adapters[1].name, "Storage");
  EXPECT_TRUE(adapters[1].up);
  EXPECT_NE(adapters[1].mac, adapters[0].mac);
  Do(R"({"command":"remove-adapter","adapter":"Storage"})");
  EXPECT_EQ(node_.host().Adapters()->size(), 1u);
}

TEST_F(NodeCommandsTest, ATeamAndItsMembersHaveOneMac) {
  Do(R"({"command":"add-adapter","adapter":"Team","addresses":"10.0.0.10/8",
         "mac":"00-15-5D-00-00-77"})");
  Do(R"({"command":"add-adapter","adapter":"NIC 1","mac":"00-15-5D-00-00-77","usable":false})");
  const auto adapters = node_.host().state().adapters;
  ASSERT_EQ(adapters.size(), 3u);
  EXPECT_EQ(adapters[1].adapter.mac, adapters[2].adapter.mac);
  EXPECT_TRUE(adapters[1].usable);
  EXPECT_FALSE(adapters[2].usable);
}

TEST_F(NodeCommandsTest, TheFirewallMayBeDown) {
  Do(R"({"command":"stop-firewall","for_ms":60000})");
  EXPECT_FALSE(node_.host().FindFirewallRule("x").ok());
  clock_.Sleep(std::chrono::seconds(60));
  EXPECT_TRUE(node_.host().FindFirewallRule("x").ok());
}

TEST_F(NodeCommandsTest, ARouteIsPutAndRemoved) {
  Do(R"({"command":"put-route","destination":"10.8.0.0/16","gateway":"192.168.1.254",
         "adapter":"Ethernet"})");
  ASSERT_EQ(Routes().size(), 2u);
  EXPECT_EQ(Routes()[1].destination, Prefix("10.8.0.0/16"));
  EXPECT_EQ(Routes()[1].gateway, Address("192.168.1.254"));
  Do(R"({"command":"remove-route","destination":"10.8.0.0/16","gateway":"192.168.1.254",
         "adapter":"Ethernet"})");
  EXPECT_EQ(Routes().size(), 1u);
}

TEST_F(NodeCommandsTest, AShownNodeLoadsAgain) {
  const Json host = Json::parse(Command(node_, R"({"command":"host"})").text);
  EXPECT_EQ(host["adapters"][0]["name"], "Ethernet");
  EmulatedNode other(clock_);
  EXPECT_TRUE(Command(other, Json({{"command", "load-host"}, {"host", host}}).dump()).ok());
  EXPECT_EQ(other.host().state(), node_.host().state());
}

TEST_F(NodeCommandsTest, ARebootAffectsHostAndHns) {
  Do(R"({"command":"put-route","destination":"10.8.0.0/16","gateway":"192.168.1.254",
         "adapter":"Ethernet"})");
  Do(R"({"command":"reboot","endpoints_kept":true,"unsettled_ms":1000})");
  EXPECT_EQ(Routes().size(), 1u) << "the default route";
}

TEST_F(NodeCommandsTest, CommandsToHnsArrive) {
  EXPECT_EQ(Json::parse(Command(node_, R"({"command":"calls"})").text)["total"], 0);
}

TEST_F(NodeCommandsTest, WrongCommandsAreNamed) {
  const struct {
    const char* command;
    const char* message;
  } rows[] = {
      {"reboot", "a command is an object"},
      {R"({"command":7})", "a command is an object"},
      {R"({"command":"dance"})", "there are: add-adapter calls clear-faults"},
      {R"({"command":"dance"})", "stop-firewall take-name unplug"},
      {R"({"command":"unplug"})", "\"adapter\" must be given"},
      {R"({"command":"unplug","adapter":7})", "\"adapter\" must be a text"},
      {R"({"command":"unplug","adapter":"Wi-Fi"})", "must be one that the host has"},
      {R"({"command":"unplug","adapter":"Wi-Fi","field":1})", "must be one that the host has"},
      {R"({"command":"host","field":1})", "no field \"field\""},
      {R"({"command":"rename","adapter":"Ethernet"})", "\"to\" must be given"},
      {R"({"command":"add-adapter","adapter":"Ethernet"})", "must be a name that is not taken"},
      {R"({"command":"set-addresses","adapter":"Ethernet","addresses":"here"})", "such as"},
      {R"({"command":"put-route","adapter":"Ethernet","destination":"10.8.0.0"})",
       "\"destination\" must be such as 10.8.0.0/16"},
      {R"({"command":"put-route","adapter":"Ethernet","destination":"10.8.0.0/16",
           "gateway":"203.0.113.1"})",
       "its gateway is not on link"},
      {R"({"command":"put-route","adapter":"Ethernet","destination":"10.8.0.0/16",
           "gateway":"here"})",
       "\"gateway\" must be an address"},
      {R"({"command":"load-host","host":{},"field":1})", "no field \"field\""},
      {R"({"command":"reboot","networks":"most"})", "kept, persistent-kept or lost"},
      {R"({"command":"reboot","soon":true})", "no field \"soon\""},
      {R"({"command":"add-adapter","adapter":"x","mac":"y"})", "\"mac\" must be such as"},
      {R"({"command":"load-host","host":{"adapters":7}})", "adapters is not an array"},
  };
  for (const auto& [command, message] : rows)
    EXPECT_THAT(Command(node_, command).error_record, HasSubstr(message)) << command;
  EXPECT_EQ(First().name, "Ethernet");
  EXPECT_EQ(Routes().size(), 1u);
}

}  // namespace
}  // namespace weft::emulator
