// SPDX-License-Identifier: Apache-2.0
// flannelctl hns list and show, on an emulator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "control/emulator/remote/remote_server.h"
#include "hns/client.h"
#include "hns/overlay_plan.h"
#include "nlohmann/json.hpp"
#include "tests/control/cli/call.h"
#include "tests/support/ethernet_node.h"
#include "tests/support/test_path.h"

namespace weft::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class HnsNetworksTest : public ::testing::Test {
 protected:
  void SetUp() override {
    server_ = hns::emulator::RemoteServer::Start(path_, node_.hns(), nullptr).value();
    hns::Client client(node_.hns());
    const hns::OverlaySpec spec{"flannel.4096",
                                *IpPrefix::Parse("10.244.9.0/24"),
                                *hns::IsolationId::From(4096),
                                4789,
                                "Ethernet",
                                *IpAddress::Parse("192.168.1.10"),
                                false};
    auto network = client.Create(hns::OverlayNetwork(spec));
    ASSERT_TRUE(network.ok()) << network.status();
    ASSERT_TRUE(
        network
            ->Add({hns::RemoteSubnetRoutePolicy(
                {*IpPrefix::Parse("10.244.1.0/24"), spec.isolation_id,
                 *IpAddress::Parse("172.16.0.11"), *MacAddress::Parse("ee:37:da:54:ca:7d")})})
            .ok());
  }

  hns::emulator::SystemClock clock_;
  weft::testing::EthernetNode node_{clock_};
  const std::string path_ = weft::testing::TestSocket();
  std::unique_ptr<hns::emulator::RemoteServer> server_;
};

TEST_F(HnsNetworksTest, ListsTheNetworks) {
  const Outcome outcome = Call({"hns", "list", "--hns=emulator:" + path_});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("NETWORK"), HasSubstr("flannel.4096   Overlay")));
  const Outcome bare = Call({"hns", "list", "--no-headers", "--hns=emulator:" + path_});
  EXPECT_THAT(bare.out, ::testing::StartsWith("flannel.4096"));
}

TEST_F(HnsNetworksTest, ShowsOneWithItsRoutes) {
  const Outcome outcome = Call({"hns", "show", "flannel.4096", "--hns=emulator:" + path_});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(
      outcome.out,
      AllOf(HasSubstr("subnets        10.244.9.0/24"), HasSubstr("management IP  192.168.1.10\n"),
            ::testing::ContainsRegex("router MAC     ..:..:..:..:..:..\n"),
            HasSubstr("10.244.1.0/24   172.16.0.11        ee:37:da:54:ca:7d   4096")));
  const Outcome json =
      Call({"hns", "show", "flannel.4096", "-o", "json", "--hns=emulator:" + path_});
  EXPECT_THAT(json.out, HasSubstr("\"DestinationPrefix\": \"10.244.1.0/24\""));
}

// Schema 2 has members of which hns::Network knows nothing.
TEST_F(HnsNetworksTest, AsADocumentItHasEveryMemberThatHnsReturns) {
  hns::Client client(node_.hns());
  std::vector<std::string> documents;
  ASSERT_EQ(client.Networks("flannel.4096", nullptr, &documents).value().size(), 1u);
  const Outcome json =
      Call({"hns", "show", "flannel.4096", "-o", "json", "--hns=emulator:" + path_});
  EXPECT_EQ(nlohmann::json::parse(json.out), nlohmann::json::parse(documents.front()));
  EXPECT_THAT(json.out, HasSubstr("\"MacPool\": {\n    \"Ranges\""));
}

TEST_F(HnsNetworksTest, ShowTakesANameAsListShowsItAndAnId) {
  hns::Client client(node_.hns());
  std::uint32_t number = 4096;
  const auto make = [&](const char* name) {
    ++number;
    const auto subnet = IpPrefix::Parse("10." + std::to_string(number - 4000) + ".0.0/24");
    return client
        .Create(hns::OverlayNetwork({name, *subnet, *hns::IsolationId::From(number), 4789,
                                     "Ethernet", *IpAddress::Parse("192.168.1.10"), false}))
        .status();
  };
  ASSERT_TRUE(make("Default Switch").ok());
  const auto show = [&](const std::string& name) {
    return Call({"hns", "show", name, "--hns=emulator:" + path_});
  };
  const std::string listed = Call({"hns", "list", "--hns=emulator:" + path_}).out;
  ASSERT_THAT(listed, HasSubstr("\nDefault_Switch "));
  EXPECT_EQ(show("Default_Switch").out, show("Default Switch").out);
  EXPECT_THAT(show("Default_Switch").out, HasSubstr("network Default Switch, "));
  const std::string id = client.Networks("Default Switch").value().front().id.ToString();
  EXPECT_EQ(show(id).out, show("Default Switch").out);
  ASSERT_TRUE(make("Default_Switch").ok());
  EXPECT_THAT(show("Default_Switch").out, HasSubstr("network Default_Switch, ")) << "its own name";
  ASSERT_TRUE(make("Default\tSwitch").ok());
  ASSERT_TRUE(client.DeleteNetwork(client.Networks("Default_Switch").value().front().id, "").ok());
  EXPECT_THAT(show("Default_Switch").err, HasSubstr("2 networks are shown as Default_Switch"));
}

TEST_F(HnsNetworksTest, AMissingOneIsAFinding) {
  const Outcome outcome = Call({"hns", "show", "vxlan0", "--hns=emulator:" + path_});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("HNS has no network \"vxlan0\""));
}

TEST_F(HnsNetworksTest, AServerThatIsNoEmulatorIsRefused) {
  EXPECT_THAT(Call({"hns", "list", "--hns=real"}).err, HasSubstr("write emulator:PATH"));
}

TEST_F(HnsNetworksTest, WithoutAnEmulatorOrAnHnsItIsAnError) {
  server_.reset();
  for (const std::vector<std::string>& verb :
       {std::vector<std::string>{"list"},
        {"show", "flannel.4096"},
        {"endpoint", "list"},
        {"endpoint", "add", "--network", "flannel.4096", "--ip", "10.244.9.7"},
        {"endpoint", "delete", "x"}}) {
    std::vector<std::string> words{"hns"};
    words.insert(words.end(), verb.begin(), verb.end());
#ifndef _WIN32
    EXPECT_EQ(Call(words).code, 2) << ::testing::PrintToString(verb);
#endif
    words.push_back("--hns=emulator:" + path_);
    const Outcome outcome = Call(words);
    EXPECT_EQ(outcome.code, 2) << ::testing::PrintToString(verb);
    EXPECT_THAT(outcome.err, HasSubstr("0x800706D9")) << ::testing::PrintToString(verb);
  }
}

TEST_F(HnsNetworksTest, NoEndpointsAreNoFinding) {
  const Outcome outcome =
      Call({"hns", "endpoint", "list", "--no-headers", "--hns=emulator:" + path_});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  hns::Client client(node_.hns());
  ASSERT_TRUE(client.DeleteNetwork(client.Networks("").value().front().id, "").ok());
  EXPECT_EQ(Call({"hns", "endpoint", "list", "--hns=emulator:" + path_}).code, 0);
}

}  // namespace
}  // namespace weft::cli
