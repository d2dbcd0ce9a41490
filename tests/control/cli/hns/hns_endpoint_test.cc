// SPDX-License-Identifier: Apache-2.0
// flannelctl hns endpoint, on an emulator behind a socket: flannel.4096 on 10.244.9.0/24, behind
// 192.168.1.10, with a route to 10.244.1.0/24.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "control/emulator/hns/emulator.h"
#include "control/emulator/remote/remote_server.h"
#include "hns/client.h"
#include "hns/overlay_plan.h"
#include "tests/control/admin/golden.h"
#include "tests/control/cli/call.h"
#include "tests/support/ethernet_node.h"
#include "tests/support/test_path.h"

namespace weft::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class HnsEndpointTest : public ::testing::Test {
 protected:
  HnsEndpointTest() {
    const hns::OverlaySpec spec{"flannel.4096",
                                *IpPrefix::Parse("10.244.9.0/24"),
                                *hns::IsolationId::From(4096),
                                4789,
                                "Ethernet",
                                *IpAddress::Parse("192.168.1.10"),
                                false};
    const hns::RemoteSubnetRoute route{*IpPrefix::Parse("10.244.1.0/24"), spec.isolation_id,
                                       *IpAddress::Parse("172.16.0.11"),
                                       *MacAddress::Parse("ee:37:da:54:ca:7d")};
    auto network = hns::Client(hns_).Create(hns::OverlayNetwork(spec));
    EXPECT_TRUE(network.ok() && network->Add({hns::RemoteSubnetRoutePolicy(route)}).ok());
  }
  // As a container runtime and a CNI plugin do.
  void PutIntoNamespace(const std::string& endpoint) {
    const hns::Reply space =
        hns_.Create(hns::Kind::kNamespace, hns::Handle::kNone, hns::Guid(),
                    R"({"Type":"Guest","SchemaVersion":{"Major":2,"Minor":0}})");
    const hns::Reply put =
        hns_.Modify(hns::Kind::kNamespace, space.handle,
                    R"({"ResourceType":"Endpoint","RequestType":"Add","Settings":{"EndpointId":")" +
                        endpoint + R"("}})");
    ASSERT_TRUE(put.ok()) << put.error_record;
  }
  Outcome Endpoint(std::vector<std::string> words) {
    words.insert(words.begin(), {"hns", "endpoint"});
    words.push_back("--hns=emulator:" + server_->path());
    return Call(words);
  }
  Outcome Add(const std::string& ip, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"add", "--network", "flannel.4096", "--ip", ip});
    return Endpoint(more);
  }
  std::string List() { return Endpoint({"list", "--no-headers"}).out; }

  hns::emulator::SystemClock clock_;
  weft::testing::EthernetNode node_{clock_};
  hns::emulator::Emulator& hns_ = node_.hns();
  const std::unique_ptr<hns::emulator::RemoteServer> server_ =
      hns::emulator::RemoteServer::Start(weft::testing::TestSocket(), hns_, nullptr).value();
};

TEST_F(HnsEndpointTest, AddedOnesAreListed) {
  const Outcome local = Add("10.244.9.7");
  ASSERT_EQ(local.code, 0) << local.err;
  ASSERT_EQ(Add("10.244.1.5", {"--remote"}).code, 0);
  ASSERT_EQ(Add("192.0.2.5", {"--remote", "--provider-address", "172.16.0.12", "--mac",
                              "02:11:00:00:00:01", "--name", "lb"})
                .code,
            0);
  EXPECT_THAT(List(), HasSubstr(local.out.substr(0, 36))) << "its id was printed";
  EXPECT_TRUE(MatchesGolden(Endpoint({"list"}).out, "hns/endpoints.txt"));
  EXPECT_TRUE(MatchesGolden(Endpoint({"list", "-o", "json"}).out, "hns/endpoints.json"));
  EXPECT_EQ(Endpoint({"list", "--network", "flannel.4096"}).out, Endpoint({"list"}).out);
  const Outcome nowhere = Endpoint({"list", "--network", "cbr0"});
  EXPECT_EQ(nowhere.code, 1);
  EXPECT_THAT(nowhere.err, HasSubstr("HNS has no network \"cbr0\""));
}

TEST_F(HnsEndpointTest, TheNewOneAsADocument) {
  const Outcome outcome = Add("10.244.1.5", {"--remote", "-o", "json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("\"Name\": \"weft-10.244.1.5\""), HasSubstr("\"Flags\": 1"),
                    HasSubstr("\"ProviderAddress\": \"172.16.0.11\"")));
  for (const std::string ip : {"10.244.9.7", "10.244.9.8", "10.244.9.9"})
    EXPECT_THAT(Add(ip, {"-o", "json"}).out, HasSubstr("\"Name\": \"weft-" + ip + "\""));
}

TEST_F(HnsEndpointTest, ARefusalOfHnsOrTheNetworkIsAFinding) {
  EXPECT_EQ(Add("10.244.9.7").code, 0);
  const Outcome twice = Add("10.244.9.7", {"--name", "weft-again"});
  EXPECT_EQ(twice.code, 1);
  EXPECT_THAT(twice.err,
              AllOf(HasSubstr("create the endpoint weft-again"), HasSubstr("0x80071392")));
  const Outcome elsewhere = Add("10.244.1.5");
  EXPECT_EQ(elsewhere.code, 1);
  EXPECT_THAT(elsewhere.err, HasSubstr("add --remote"));
}

TEST_F(HnsEndpointTest, WrongArgumentsAreRefusedBeforeAnyCall) {
  const struct {
    std::vector<std::string> words;
    const char* message;
  } rows[] = {
      {{"--ip", "here"}, "--ip \"here\" is no address"},
      {{"--ip", "10.244.9.7", "--mac", "ff:ff:ff:ff:ff:ff"}, "is no MAC address of one endpoint"},
      {{"--ip", "10.244.9.7", "--mac", "00:00:00:00:00:00"}, "is no MAC address of one endpoint"},
      {{"--ip", "10.244.9.7", "--mac", "here"}, "--mac \"here\" is no MAC address"},
      {{"--ip", "10.244.1.5", "--remote", "--provider-address", "::1"}, "is no IPv4 address"},
      {{"--ip", "10.244.1.5", "--remote", "--provider-address", "here"}, "is no IPv4 address"},
      {{"--ip", "10.244.1.5", "--provider-address", "172.16.0.1"}, "requires --remote"},
      {{}, "--ip"},
  };
  for (const auto& row : rows) {
    std::vector<std::string> words{"add", "--network", "flannel.4096"};
    words.insert(words.end(), row.words.begin(), row.words.end());
    const Outcome outcome = Endpoint(words);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, HasSubstr(row.message));
  }
  EXPECT_EQ(List(), "");
}

// 2: HNS did not answer. 1: it answered, and refused.
TEST_F(HnsEndpointTest, ACallThatFailsIsNamed) {
  ASSERT_EQ(Add("10.244.9.7").code, 0);
  const std::vector<std::string> list{"hns", "list"}, show{"hns", "show", "flannel.4096"},
      endpoints{"hns", "endpoint", "list"},
      deletion{"hns", "endpoint", "delete", "weft-10.244.9.7"},
      addition{"hns", "endpoint", "add", "--network", "flannel.4096", "--ip", "10.244.9.8"};
  const struct {
    const std::vector<std::string>& words;
    const char* function;
    hns::Hresult code;
    int exit_code;
  } rows[] = {
      {list, "HcnEnumerateNetworks", hns::hresult::kUnspecified, 2},
      {list, "HcnEnumerateEndpoints", hns::hresult::kUnspecified, 2},
      {show, "HcnEnumerateNetworks", hns::hresult::kUnspecified, 2},
      {endpoints, "HcnEnumerateNetworks", hns::hresult::kUnspecified, 2},
      {endpoints, "HcnEnumerateEndpoints", hns::hresult::kUnspecified, 2},
      {addition, "HcnEnumerateNetworks", hns::hresult::kUnspecified, 2},
      {addition, "HcnCreateEndpoint", hns::hresult::kUnspecified, 1},
      {addition, "HcnCreateEndpoint", hns::hresult::kAccessDenied, 2},
      {addition, "HcnCreateEndpoint", hns::hresult::kNoMoreEndpoints, 2},
      {deletion, "HcnEnumerateEndpoints", hns::hresult::kUnspecified, 2},
      {deletion, "HcnDeleteEndpoint", hns::hresult::kUnspecified, 1},
      {deletion, "HcnDeleteEndpoint", hns::hresult::kAccessDenied, 2},

  };
  for (const auto& row : rows) {
    SCOPED_TRACE(::testing::PrintToString(row.words) + row.function);
    hns::emulator::Fault fault;
    fault.function = row.function;
    fault.count = hns::emulator::Fault::kAlways;
    fault.code = row.code;
    hns_.Add(fault);
    std::vector<std::string> words = row.words;
    words.push_back("--hns=emulator:" + server_->path());
    const Outcome outcome = Call(words);
    hns_.ClearFaults();
    EXPECT_EQ(outcome.code, row.exit_code);
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.err, HasSubstr("flannelctl " + words[0] + " " + words[1]));
  }
  EXPECT_EQ(Endpoint({"list", "--no-headers"}).code, 0);
}

// On a node with one broken endpoint these are needed most.
TEST_F(HnsEndpointTest, AnUnreadableOneIsSkippedAndNamed) {
  const std::string emulator = "--hns=emulator:" + server_->path();
  ASSERT_EQ(Add("10.244.9.7").code, 0);
  const std::string broken = Add("10.244.9.8").out.substr(0, 36);
  const auto breaks = [&](std::uint64_t first) {
    hns_.ClearFaults();
    hns::emulator::Fault fault;
    fault.function = "HcnQueryEndpointProperties";
    fault.first = first;
    fault.code = hns::hresult::kUnspecified;
    hns_.Add(fault);
  };
  // Which of the two is read first is HNS's affair.
  const std::uint64_t place =
      List().find("weft-10.244.9.8") < List().find("weft-10.244.9.7") ? 1 : 2;
  const std::string left_out = "omitted: list the endpoints: read the endpoint " + broken;
  breaks(place);
  const Outcome list = Endpoint({"list", "--no-headers"});
  EXPECT_EQ(list.code, 0);
  EXPECT_THAT(list.out, AllOf(HasSubstr("weft-10.244.9.7"), Not(HasSubstr("weft-10.244.9.8"))));
  EXPECT_THAT(list.err, HasSubstr(left_out));
  breaks(place);
  const Outcome networks = Call({"hns", "list", emulator});
  EXPECT_EQ(networks.code, 0);
  EXPECT_THAT(networks.out, HasSubstr("flannel.4096"));
  EXPECT_THAT(networks.err, HasSubstr(left_out));
  breaks(place);
  EXPECT_EQ(Endpoint({"delete", "weft-10.244.9.7"}).code, 0);
  breaks(1);
  const Outcome by_name = Endpoint({"delete", "weft-10.244.9.8"});
  EXPECT_EQ(by_name.code, 1);
  EXPECT_THAT(by_name.err, HasSubstr(left_out));
  breaks(1);
  EXPECT_THAT(Endpoint({"delete", broken}).err, HasSubstr("--force deletes it anyway"));
  breaks(1);
  hns::emulator::Fault kept;
  kept.function = "HcnDeleteEndpoint";
  kept.code = hns::hresult::kUnspecified;
  hns_.Add(kept);
  EXPECT_EQ(Endpoint({"delete", "--force", broken}).code, 1);
  breaks(1);
  EXPECT_EQ(Endpoint({"delete", "--force", broken}).code, 0);
  hns_.ClearFaults();
  EXPECT_EQ(List(), "");
}

TEST_F(HnsEndpointTest, ANewOneThatIsNotListedIsAFinding) {
  hns::emulator::Fault fault;
  fault.function = "HcnQueryEndpointProperties";
  fault.first = 2;  // not the reading of what was made
  fault.code = hns::hresult::kUnspecified;
  hns_.Add(fault);
  const Outcome outcome = Add("10.244.9.8", {"-o", "json"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("omitted: list the endpoints"),
                                 HasSubstr(" was made, and HNS does not show it")));
  EXPECT_THAT(List(), HasSubstr("weft-10.244.9.8"));
}

TEST_F(HnsEndpointTest, ANetworkWithoutAddressOrMacIsShown) {
  const hns::Reply made =
      hns_.Create(hns::Kind::kNetwork, hns::Handle::kNone, hns::Guid(),
                  R"({"Name":"inside","Type":"Private","SchemaVersion":{"Major":2,"Minor":0},
          "Ipams":[{"Type":"Static","Subnets":[{"IpAddressPrefix":"10.8.0.0/24"}]}]})");
  ASSERT_TRUE(made.ok()) << made.error_record;
  hns::Client client(hns_);
  hns::Endpoint endpoint;
  endpoint.name = "alone";
  endpoint.network = client.Networks("inside")->front().id;
  ASSERT_TRUE(client.CreateEndpoint(endpoint).ok());
  EXPECT_THAT(Endpoint({"list", "--network", "inside", "--no-headers"}).out,
              ::testing::ContainsRegex("alone +inside +10.8.0..* local +- +- "));
  const std::string emulator = "--hns=emulator:" + server_->path();
  EXPECT_THAT(Call({"hns", "list", emulator}).out,
              ::testing::ContainsRegex("inside +Private +10.8.0.0/24 +- "));
  EXPECT_THAT(Call({"hns", "show", "inside", emulator}).out,
              AllOf(HasSubstr("management IP  \n"), HasSubstr("router MAC     \n")));
}

TEST_F(HnsEndpointTest, OursAreDeletedByNameOrId) {
  const std::string id = Add("10.244.9.7").out.substr(0, 36);
  ASSERT_EQ(Add("10.244.9.8").code, 0);
  const Outcome by_name = Endpoint({"delete", "weft-10.244.9.8"});
  EXPECT_EQ(by_name.code, 0) << by_name.err;
  EXPECT_THAT(by_name.out + by_name.err, IsEmpty());
  EXPECT_EQ(Endpoint({"delete", id}).code, 0);
  EXPECT_EQ(List(), "");
  const Outcome again = Endpoint({"delete", id});
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.err, HasSubstr("HNS has no endpoint"));
}

TEST_F(HnsEndpointTest, ForeignOnesAndThoseInUseNeedForceAndAreNamed) {
  ASSERT_EQ(Add("10.244.9.7", {"--name", "c1_flannel.4096"}).code, 0);
  const std::string pod = Add("10.244.9.8").out.substr(0, 36);
  PutIntoNamespace(pod);
  const struct {
    const char *which, *message;
  } rows[] = {{"c1_flannel.4096", "is not weft's"}, {"weft-10.244.9.8", "in use by a container"}};
  for (const auto& row : rows) {
    const Outcome refused = Endpoint({"delete", row.which});
    EXPECT_EQ(refused.code, 1);
    EXPECT_THAT(refused.err, AllOf(HasSubstr(row.message), HasSubstr("--force")));
    const Outcome forced = Endpoint({"delete", "--force", row.which});
    EXPECT_EQ(forced.code, 0);
    EXPECT_THAT(forced.err, AllOf(HasSubstr("deleted by --force"), HasSubstr(row.message)));
  }
  EXPECT_EQ(List(), "");
}

TEST_F(HnsEndpointTest, AnAmbiguousNameIsRefused) {
  for (const char* ip : {"10.244.9.7", "10.244.9.8"})
    ASSERT_EQ(Add(ip, {"--name", "weft-x"}).code, 0);
  const Outcome outcome = Endpoint({"delete", "--force", "weft-x"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("2 endpoints are named \"weft-x\"; give an id"));
}

TEST(HnsControlTest, TheAnswerOfTheEmulatorIsPrinted) {
  hns::emulator::SystemClock clock;
  weft::testing::EthernetNode node(clock);
  hns::emulator::Emulator& hns = node.hns();
  const auto server =
      hns::emulator::RemoteServer::Start(weft::testing::TestSocket(), hns,
                                         [](const std::string& command) {
                                           hns::Reply reply;
                                           reply.text = R"({"total":7})";
                                           if (command.find("calls") == std::string::npos) {
                                             reply.code = hns::hresult::kInvalidArgument;
                                             reply.error_record = "there is no such command";
                                           }
                                           return reply;
                                         })
          .value();
  const Outcome calls = Call({"hns", "control", server->path(), "calls"});
  EXPECT_EQ(calls.code, 0) << calls.err;
  EXPECT_EQ(calls.out, "{\n  \"total\": 7\n}\n");
  const Outcome dance = Call({"hns", "control", server->path(), "dance"});
  EXPECT_EQ(dance.code, 2);
  EXPECT_EQ(dance.err, "flannelctl hns control: there is no such command\n");
}

}  // namespace
}  // namespace weft::cli
