// SPDX-License-Identifier: Apache-2.0
#include "hns/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/hns/recording_api.h"

namespace weft::hns {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr char kFirst[] = "00000100-0000-4000-8000-000000000001";
constexpr char kSecond[] = "00000100-0000-4000-8000-000000000002";
constexpr char kAll[] = R"({"SchemaVersion":{"Major":2,"Minor":0}})";
constexpr char kByName[] =
    R"({"SchemaVersion":{"Major":2,"Minor":0},"Filter":"{\"Name\":\"flannel.4096\"}"})";
constexpr char kRecord[] = R"({"Success":false,"Error":"Fehler ","ErrorCode":2147942487})";

std::string NetworkText(const char* id, const char* name) {
  return std::string(R"({"ID":")") + id + R"(","Name":")" + name + R"(","Type":"Overlay"})";
}

Network Named(const char* id, const char* name) {
  Network network;
  network.id = *Guid::Parse(id);
  network.name = name;
  network.type = "Overlay";
  return network;
}

Reply WithRecord() {
  Reply reply;
  reply.error_record = kRecord;
  return reply;
}

class ClientTest : public ::testing::Test {
 protected:
  // Every handle is closed in every case.
  void TearDown() override { EXPECT_THAT(api_.open, IsEmpty()); }

  RecordingApi api_;
  Client client_{api_};
};

TEST_F(ClientTest, ReadsTheVersion) {
  api_.AnswerText("HNSCall", R"({"Success":true,"Output":{"Major":13,"Minor":3}})");
  const auto version = client_.ReadVersion();
  ASSERT_TRUE(version.ok()) << version.status();
  EXPECT_EQ(*version, (Version{13, 3}));
  EXPECT_THAT(api_.calls, ElementsAre("HNSCall GET /globals/version []"));
}

TEST_F(ClientTest, TheVersionMayBeRefusedInTwoWays) {
  api_.AnswerCode("HNSCall", hresult::kNoMoreEndpoints);
  const absl::Status stopped = client_.ReadVersion().status();
  EXPECT_TRUE(absl::IsUnavailable(stopped));
  EXPECT_THAT(std::string(stopped.message()), HasSubstr("Start-Service hns"));

  api_.AnswerText("HNSCall", R"({"Success":false,"Error":"Zugriff ","ErrorCode":2147942405})");
  const absl::Status refused = client_.ReadVersion().status();
  EXPECT_EQ(HresultOf(refused), hresult::kAccessDenied);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("read the version of HNS: E_ACCESSDENIED"));

  Reply with_record;
  with_record.code = hresult::kAccessDenied;
  with_record.error_record = kRecord;
  api_.Answer("HNSCall", with_record);
  EXPECT_THAT(std::string(client_.ReadVersion().status().message()), HasSubstr("Fehler"));

  for (const char* text : {"nonsense", R"({"Success":true,"Output":{}})"}) {
    api_.AnswerText("HNSCall", text);
    const absl::Status broken = client_.ReadVersion().status();
    EXPECT_TRUE(absl::IsDataLoss(broken));
    EXPECT_THAT(std::string(broken.message()), StartsWith("read the version of HNS: "));
  }
}

// WSL's HNS answers so while it is stopped, and a working one what it does not have.
TEST_F(ClientTest, NotSupportedMayMeanThatTheServiceIsGone) {
  const auto gone = [&](Hresult code) { return client_.ServiceGone(StatusOf("do it", code, "")); };
  api_.AnswerText("HNSCall", R"({"Success":true,"Output":{"Major":13,"Minor":3}})");
  EXPECT_FALSE(gone(hresult::kNotSupported)) << "it has a version";
  api_.AnswerCode("HNSCall", hresult::kNotSupported);
  EXPECT_TRUE(gone(hresult::kNotSupported));
  EXPECT_TRUE(gone(hresult::kRpcCallFailed));
  api_.AnswerCode("HNSCall", hresult::kNotSupported);
  EXPECT_FALSE(gone(hresult::kInvalidPolicy));
  EXPECT_FALSE(client_.ServiceGone(absl::InternalError("x")));
}

TEST_F(ClientTest, FindsANetworkByNameInFourCalls) {
  api_.AnswerText("HcnEnumerateNetworks", std::string("[\"") + kFirst + "\"]");
  api_.AnswerText("HcnQueryNetworkProperties", NetworkText(kFirst, "flannel.4096"));
  const auto networks = client_.Networks("flannel.4096");
  ASSERT_TRUE(networks.ok()) << networks.status();
  ASSERT_EQ(networks->size(), 1u);
  EXPECT_EQ(networks->front().id.ToString(), kFirst);
  EXPECT_THAT(api_.calls, ElementsAre(std::string("HcnEnumerateNetworks ") + kByName,
                                      std::string("HcnOpenNetwork ") + kFirst,
                                      std::string("HcnQueryNetworkProperties 1 ") + kByName,
                                      "HcnCloseNetwork 1"));
}

TEST_F(ClientTest, AMissingNetworkIsAnEmptyListInOneCall) {
  api_.AnswerText("HcnEnumerateNetworks", "[]");
  const auto networks = client_.Networks("flannel.4096");
  ASSERT_TRUE(networks.ok());
  EXPECT_THAT(*networks, IsEmpty());
  EXPECT_EQ(api_.calls.size(), 1u);
}

TEST_F(ClientTest, ANetworkOfAnotherNameIsNotTaken) {
  api_.AnswerText("HcnEnumerateNetworks", std::string("[\"") + kFirst + "\",\"" + kSecond + "\"]");
  api_.AnswerText("HcnQueryNetworkProperties", NetworkText(kFirst, "Flannel.4096"));
  api_.AnswerText("HcnQueryNetworkProperties", NetworkText(kSecond, "flannel.4096"));
  const auto networks = client_.Networks("flannel.4096");
  ASSERT_TRUE(networks.ok());
  ASSERT_EQ(networks->size(), 1u);
  EXPECT_EQ(networks->front().id.ToString(), kSecond);
}

TEST_F(ClientTest, ObjectsDeletedDuringAListAreSkipped) {
  api_.AnswerText("HcnEnumerateNetworks",
                  std::string("[\"") + kFirst + "\",\"" + kFirst + "\",\"" + kSecond + "\"]");
  api_.AnswerCode("HcnOpenNetwork", hresult::kNetworkNotFound);
  api_.AnswerCode("HcnQueryNetworkProperties", hresult::kElementNotFound);
  api_.AnswerText("HcnQueryNetworkProperties", NetworkText(kSecond, "x"));
  const auto networks = client_.Networks();
  ASSERT_TRUE(networks.ok()) << networks.status();
  ASSERT_EQ(networks->size(), 1u);
  EXPECT_EQ(networks->front().name, "x");
  EXPECT_EQ(api_.calls.front(), std::string("HcnEnumerateNetworks ") + kAll);
}

TEST_F(ClientTest, AListThatCannotBeReadIsAnError) {
  api_.AnswerCode("HcnEnumerateNetworks", hresult::kRpcCallFailed);
  EXPECT_TRUE(absl::IsUnavailable(client_.Networks().status()));

  api_.AnswerText("HcnEnumerateNetworks", "{}");
  EXPECT_TRUE(absl::IsDataLoss(client_.Networks().status()));

  api_.AnswerText("HcnEnumerateNetworks", std::string("[\"") + kFirst + "\"]");
  api_.AnswerCode("HcnQueryNetworkProperties", hresult::kRpcCallFailed);
  const absl::Status lost = client_.Networks().status();
  EXPECT_TRUE(absl::IsUnavailable(lost));
  EXPECT_THAT(std::string(lost.message()),
              HasSubstr(std::string("list the networks: read the network ") + kFirst));

  api_.AnswerText("HcnEnumerateNetworks", std::string("[\"") + kFirst + "\"]");
  api_.AnswerText("HcnQueryNetworkProperties", "[]");
  const absl::Status broken = client_.Networks().status();
  EXPECT_TRUE(absl::IsDataLoss(broken));
  EXPECT_THAT(std::string(broken.message()), HasSubstr(kFirst));
}

// A broken object does not remove others from a list that reports it; a stopped service fails the
// whole list.
TEST_F(ClientTest, UnreadableObjectsAreReturnedWhereRequested) {
  const std::string both = std::string("[\"") + kFirst + "\",\"" + kSecond + "\"]";
  std::vector<Unread> unread;
  api_.AnswerText("HcnEnumerateNetworks", both);
  api_.AnswerCode("HcnQueryNetworkProperties", hresult::kUnspecified);
  api_.AnswerText("HcnQueryNetworkProperties", NetworkText(kSecond, "x"));
  const auto networks = client_.Networks("", &unread);
  ASSERT_TRUE(networks.ok()) << networks.status();
  ASSERT_EQ(networks->size(), 1u);
  EXPECT_EQ(networks->front().name, "x");
  ASSERT_EQ(unread.size(), 1u);
  EXPECT_EQ(unread[0].id.ToString(), kFirst);
  EXPECT_THAT(unread[0].why, HasSubstr("(0x80004005)"));

  unread.clear();
  api_.AnswerText("HcnEnumerateEndpoints", both);
  api_.AnswerText("HcnQueryEndpointProperties", "[]");
  api_.AnswerText("HcnQueryEndpointProperties",
                  std::string(R"({"ID":")") + kSecond + R"(","Name":"pod"})");
  const auto endpoints = client_.Endpoints(Guid(), &unread);
  ASSERT_TRUE(endpoints.ok()) << endpoints.status();
  EXPECT_EQ(endpoints->size(), 1u);
  EXPECT_EQ(unread.size(), 1u);

  unread.clear();
  api_.AnswerText("HcnEnumerateEndpoints", both);
  api_.AnswerCode("HcnOpenEndpoint", hresult::kRpcCallFailed);
  EXPECT_TRUE(absl::IsUnavailable(client_.Endpoints(Guid(), &unread).status()));
  EXPECT_TRUE(unread.empty());
}

TEST_F(ClientTest, AnOpenedNetworkIsOneCallForEachReadAndChange) {
  {
    auto network = client_.Open(Named(kFirst, "flannel.4096"));
    ASSERT_TRUE(network.ok());
    api_.AnswerText("HcnQueryNetworkProperties", NetworkText(kFirst, "flannel.4096"));
    EXPECT_TRUE(network->Read().ok());
    EXPECT_TRUE(network->Add({HostRoutePolicy()}).ok());
    EXPECT_TRUE(network->Remove({HostRoutePolicy(), VxlanPortPolicy(4789)}).ok());
    EXPECT_TRUE(network->Add({}).ok());
  }
  EXPECT_THAT(
      api_.calls,
      ElementsAre(
          std::string("HcnOpenNetwork ") + kFirst,
          std::string("HcnQueryNetworkProperties 1 ") + kAll,
          R"(HcnModifyNetwork 1 {"ResourceType":"Policy","RequestType":"Add","Settings":{"Policies":[{"Type":"HostRoute","Settings":{}}]}})",
          R"(HcnModifyNetwork 1 {"ResourceType":"Policy","RequestType":"Remove","Settings":{"Policies":[{"Type":"HostRoute","Settings":{}},{"Type":"VxlanPort","Settings":{"Port":4789}}]}})",
          "HcnCloseNetwork 1"));
}

TEST_F(ClientTest, AnOpenedNetworkIsClosedOnceWhereverItIsMoved) {
  {
    auto first = client_.Open(Named(kFirst, "a"));
    auto second = client_.Open(Named(kSecond, "b"));
    ASSERT_TRUE(first.ok() && second.ok());
    OpenedNetwork moved = *std::move(first);
    EXPECT_EQ(moved.handle(), Handle{1});
    moved = *std::move(second);
    EXPECT_EQ(moved.handle(), Handle{2});
  }
  EXPECT_EQ(api_.calls.size(), 4u);
}

TEST_F(ClientTest, ARefusedChangeNamesItsObject) {
  auto network = client_.Open(Named(kFirst, "flannel.4096"));
  ASSERT_TRUE(network.ok());
  api_.AnswerCode("HcnModifyNetwork", hresult::kInvalidPolicy);
  EXPECT_EQ(network->Add({HostRoutePolicy()}).message(),
            "add the HostRoute policy to the network flannel.4096: HCN_E_INVALID_POLICY "
            "(0x803B000D)");
  api_.AnswerCode("HcnModifyNetwork", hresult::kPolicyNotFound);
  EXPECT_EQ(network->Remove({HostRoutePolicy(), HostRoutePolicy(), HostRoutePolicy()}).message(),
            "remove the HostRoute and 2 more policies of the network flannel.4096: "
            "HCN_E_POLICY_NOT_FOUND (0x803B0008)");
  api_.AnswerCode("HcnQueryNetworkProperties", hresult::kObjectUsedAfterUnload);
  EXPECT_TRUE(absl::IsUnavailable(network->Read().status()));
  api_.AnswerText("HcnQueryNetworkProperties", "[]");
  const absl::Status broken = network->Read().status();
  EXPECT_TRUE(absl::IsDataLoss(broken));
  EXPECT_THAT(std::string(broken.message()), StartsWith("read the network flannel.4096: "));
}

TEST_F(ClientTest, ARecordAfterASuccessIsAFailure) {
  api_.Answer("HcnModifyNetwork", WithRecord());
  api_.Answer("HcnOpenNetwork", WithRecord());
  api_.Answer("HcnCreateNetwork", WithRecord());
  EXPECT_EQ(HresultOf(client_.Open(Named(kFirst, "x")).status()), hresult::kInvalidArgument);
  EXPECT_EQ(HresultOf(client_.Create(Named(kFirst, "x")).status()), hresult::kInvalidArgument);
  auto network = client_.Open(Named(kFirst, "x"));
  ASSERT_TRUE(network.ok());
  EXPECT_EQ(HresultOf(network->Add({HostRoutePolicy()})), hresult::kInvalidArgument);
}

TEST_F(ClientTest, CreatesANetworkInOneCallAndKeepsItOpen) {
  Network spec;
  spec.name = "flannel.4096";
  spec.type = "Overlay";
  const auto network = client_.Create(spec);
  ASSERT_TRUE(network.ok());
  EXPECT_THAT(api_.calls, ElementsAre("HcnCreateNetwork 00000000-0000-0000-0000-000000000000 " +
                                      NetworkJson(spec)));
  EXPECT_EQ(api_.open.count(network->handle()), 1u);
}

TEST_F(ClientTest, ARefusedCreateKeepsItsNumber) {
  api_.AnswerCode("HcnCreateNetwork", hresult::kNetworkAlreadyExists);
  const absl::Status status = client_.Create(Named(kFirst, "flannel.4096")).status();
  EXPECT_TRUE(absl::IsAlreadyExists(status));
  EXPECT_EQ(status.message(),
            "create the network flannel.4096: HCN_E_NETWORK_ALREADY_EXISTS (0x803B0010)");
}

TEST_F(ClientTest, DeletingAMissingObjectIsNoError) {
  const Guid id = *Guid::Parse(kFirst);
  EXPECT_TRUE(client_.DeleteNetwork(id, "x").ok());
  api_.AnswerCode("HcnDeleteNetwork", hresult::kElementNotFound);
  EXPECT_TRUE(client_.DeleteNetwork(id, "x").ok());
  api_.AnswerCode("HcnDeleteEndpoint", hresult::kEndpointNotFound);
  EXPECT_TRUE(client_.DeleteEndpoint(id, "").ok());
  api_.AnswerCode("HcnDeleteEndpoint", hresult::kEntityHasReferences);
  EXPECT_EQ(
      client_.DeleteEndpoint(id, "").message(),
      std::string("delete the endpoint ") + kFirst + ": HCN_E_ENTITY_HAS_REFERENCES (0x803B002C)");
}

TEST_F(ClientTest, ListsTheEndpointsOfANetwork) {
  api_.AnswerText("HcnEnumerateEndpoints", std::string("[\"") + kFirst + "\",\"" + kSecond + "\"]");
  api_.AnswerText(
      "HcnQueryEndpointProperties",
      std::string(R"({"ID":")") + kFirst + R"(","HostComputeNetwork":")" + kSecond + "\"}");
  api_.AnswerText("HcnQueryEndpointProperties", std::string(R"({"ID":")") + kSecond + "\"}");
  const auto endpoints = client_.Endpoints(*Guid::Parse(kSecond));
  ASSERT_TRUE(endpoints.ok()) << endpoints.status();
  ASSERT_EQ(endpoints->size(), 1u);
  EXPECT_EQ(endpoints->front().id.ToString(), kFirst);
  EXPECT_EQ(api_.calls.front(),
            std::string("HcnEnumerateEndpoints ") +
                R"({"SchemaVersion":{"Major":2,"Minor":0},"Filter":"{\"VirtualNetwork\":\")" +
                kSecond + R"(\"}"})");

  api_.AnswerText("HcnEnumerateEndpoints", std::string("[\"") + kFirst + "\"]");
  api_.AnswerText(
      "HcnQueryEndpointProperties",
      std::string(R"({"ID":")") + kFirst + R"(","HostComputeNetwork":")" + kSecond + "\"}");
  EXPECT_THAT(client_.Endpoints(Guid()).value(), SizeIs(1)) << "of every network";
}

TEST_F(ClientTest, CreatesAnEndpointOnItsNetwork) {
  Endpoint spec;
  spec.name = "r";
  spec.network = *Guid::Parse(kFirst);
  api_.AnswerText("HcnQueryEndpointProperties", std::string(R"({"ID":")") + kSecond + "\"}");
  const auto endpoint = client_.CreateEndpoint(spec);
  ASSERT_TRUE(endpoint.ok()) << endpoint.status();
  EXPECT_EQ(endpoint->id.ToString(), kSecond);
  EXPECT_THAT(api_.calls, ElementsAre(std::string("HcnOpenNetwork ") + kFirst,
                                      "HcnCreateEndpoint 1 00000000-0000-0000-0000-000000000000 " +
                                          EndpointJson(spec),
                                      std::string("HcnQueryEndpointProperties 2 ") + kAll,
                                      "HcnCloseEndpoint 2", "HcnCloseNetwork 1"));
}

TEST_F(ClientTest, AnEndpointMayFailAtEachStep) {
  Endpoint spec;
  spec.name = "r";
  spec.network = *Guid::Parse(kFirst);
  api_.AnswerCode("HcnOpenNetwork", hresult::kNetworkNotFound);
  EXPECT_EQ(client_.CreateEndpoint(spec).status().message(),
            std::string("create the endpoint r: open its network ") + kFirst +
                ": HCN_E_NETWORK_NOT_FOUND (0x803B0001)");
  api_.AnswerCode("HcnCreateEndpoint", hresult::kInvalidIp);
  EXPECT_EQ(client_.CreateEndpoint(spec).status().message(),
            "create the endpoint r: HCN_E_INVALID_IP (0x803B001E)");
  api_.AnswerCode("HcnQueryEndpointProperties", hresult::kUnspecified);
  EXPECT_EQ(client_.CreateEndpoint(spec).status().message(),
            "read the new endpoint r: E_FAIL (0x80004005)");
  api_.AnswerText("HcnQueryEndpointProperties", "[]");
  const absl::Status broken = client_.CreateEndpoint(spec).status();
  EXPECT_TRUE(absl::IsDataLoss(broken));
  EXPECT_THAT(std::string(broken.message()), StartsWith("read the new endpoint r: "));
}

}  // namespace
}  // namespace weft::hns
