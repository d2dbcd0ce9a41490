// SPDX-License-Identifier: Apache-2.0
// A user's commands to the HNS of an emulated node.
#include "control/emulator/commands.h"
#include "control/emulator/remote/remote_api.h"
#include "control/emulator/remote/remote_server.h"
#include "gmock/gmock.h"
#include "tests/support/emulator_clock.h"
#include "tests/support/ethernet_node.h"
#include "tests/support/test_path.h"

namespace weft::emulator {
namespace {

using hns::Hresult;
using hns::Kind;
using hns::Version;
using hns::emulator::Milliseconds;
using hns::emulator::RemoteApi;
using hns::emulator::RemoteServer;
using ::testing::HasSubstr;
namespace hresult = hns::hresult;
using Json = nlohmann::json;

class HnsCommandsTest : public ::testing::Test {
 protected:
  absl::StatusOr<Json> Do(const char* command) {
    return CarryOut(node_, Json::parse(command, nullptr, false));
  }
  Hresult Read() { return emulator_.Enumerate(Kind::kNetwork, "").code; }

  weft::testing::EmulatorClock clock_;
  weft::testing::EthernetNode node_{clock_};
  hns::emulator::Emulator& emulator_ = node_.hns();
};

TEST_F(HnsCommandsTest, AFaultTakesEffectAndIsCleared) {
  ASSERT_TRUE(Do(R"({"command":"fault","function":"HcnEnumerateNetworks","code":"0x803B0020",
                     "first":2,"count":"always"})")
                  .ok());
  EXPECT_EQ(Read(), hresult::kOk);
  EXPECT_EQ(Read(), hresult::kManagerStopped);
  EXPECT_EQ(Read(), hresult::kManagerStopped);
  ASSERT_TRUE(Do(R"({"command":"clear-faults"})").ok());
  EXPECT_EQ(Read(), hresult::kOk);
  EXPECT_EQ((*Do(R"({"command":"calls"})"))["functions"]["HcnEnumerateNetworks"], 4);
}

TEST_F(HnsCommandsTest, TheServiceStopsAndStarts) {
  ASSERT_TRUE(Do(R"({"command":"stop"})").ok());
  EXPECT_EQ(Read(), hresult::kNoMoreEndpoints);
  ASSERT_TRUE(Do(R"({"command":"start","networks":"lost"})").ok());
  EXPECT_EQ(Read(), hresult::kOk);
  EXPECT_TRUE(Do(R"({"command":"restart"})").ok());
  EXPECT_TRUE(Do(R"({"command":"reboot"})").ok());
}

TEST_F(HnsCommandsTest, ARestartMayLoseOrDelayAnything) {
  ASSERT_TRUE(Do(R"({"command":"restart","networks":"persistent-kept","routes_kept":false,
                     "endpoints_kept":false,"load_balancers_kept":false,"attachments_kept":false,
                     "attachments_stale":true,"adapter_ids_new":true,"unsettled_ms":5000,
                     "away_ms":120000})")
                  .ok());
  EXPECT_EQ(Read(), hresult::kNoMoreEndpoints);
  clock_.Advance(Milliseconds(120'000));
  EXPECT_EQ(Read(), hresult::kOk);
  EXPECT_EQ((*Do(R"({"command":"hanging"})"))["calls"], 0);
  EXPECT_TRUE(
      Do(R"({"command":"fault","function":"HcnQueryEndpointProperties","hangs":true})").ok());
}

// Each client is a process of its own.
TEST_F(HnsCommandsTest, AClientFromBeforeARestartMayBeRefused) {
  const auto server = RemoteServer::Start(weft::testing::TestSocket(), emulator_, nullptr, nullptr,
                                          [this] { return emulator_.NewProcess(); });
  ASSERT_TRUE(server.ok()) << server.status();
  RemoteApi before((*server)->path());
  EXPECT_EQ(before.Enumerate(Kind::kNetwork, "").code, hresult::kOk);
  ASSERT_TRUE(Do(R"({"command":"set","settings":{"processes_die":true}})").ok());
  ASSERT_TRUE(Do(R"({"command":"restart"})").ok());
  RemoteApi after((*server)->path());
  EXPECT_EQ(before.Enumerate(Kind::kNetwork, "").code, hresult::kRpcCallFailedDne);
  EXPECT_EQ(after.Enumerate(Kind::kNetwork, "").code, hresult::kOk);
}

TEST_F(HnsCommandsTest, SettingsChangeOneByOne) {
  ASSERT_TRUE(Do(R"({"command":"set","settings":{"version":"9.5"}})").ok());
  ASSERT_TRUE(Do(R"({"command":"set","settings":{"atomic_batches":false}})").ok());
  EXPECT_EQ(emulator_.settings().version, (Version{9, 5}));
  EXPECT_FALSE(emulator_.settings().atomic_batches);
  EXPECT_FALSE(Do(R"({"command":"set","settings":{"weather":"fine"}})").ok());
}

TEST_F(HnsCommandsTest, ADumpedNodeLoads) {
  const Json state = *Do(R"({"command":"dump"})");
  EXPECT_TRUE(CarryOut(node_, {{"command", "load"}, {"state", state}}).ok());
  EXPECT_EQ(*Do(R"({"command":"dump"})"), state);
  EXPECT_EQ(*Do(R"({"command":"handles"})"), Json({{"open", 0}, {"misuses", 0}}));
}

TEST_F(HnsCommandsTest, WrongCommandsAreNamed) {
  struct Row {
    const char* command;
    const char* text;
  };
  const Row rows[] = {
      {"dump", "a command is an object"},
      {"[]", "a command is an object"},
      {R"({"command":5})", "a command is an object"},
      {R"({"command":"load","state":{},"field":1})", "no field \"field\""},
      {R"({"command":"set","field":1})", "no field \"field\""},
      {R"({"command":"dance"})", "there are: add-adapter calls clear-faults"},
      {R"({"command":"dump","field":1})", "no field \"field\""},
      {R"({"command":"fault"})", "\"function\" is missing"},
      {R"({"command":"fault","function":"*","count":-1})", "\"count\" must be a number"},
      {R"({"command":"fault","function":"Foo"})", "\"Foo\", which HNS does not have"},
      {R"({"command":"fault","function":"HNSCalls"})", "\"HNSCalls\", which HNS does not have"},
      {R"({"command":"restart","networks":"most"})", "kept, persistent-kept or lost"},
      {R"({"command":"restart","routes_kept":"no"})", "must be true or false"},
  };
  for (const Row& row : rows) {
    EXPECT_THAT(Do(row.command).status().message(), HasSubstr(row.text)) << row.command;
  }
}

TEST(ReadFaultTest, IsAnObjectThatNamesAFunction) {
  EXPECT_EQ(ReadFault(Json{{"function", "*"}, {"first", 3u}})->first, 3u);
  for (const char* function : {"HcnModifyNetwork", "HcnCloseLoadBalancer", "HNSCall",
                               "HNSCall POST /networks/", "HcnRegisterServiceCallback"})
    EXPECT_TRUE(ReadFault(Json{{"function", function}}).ok()) << function;
  EXPECT_THAT(ReadFault(Json{{"function", "HcnModifyNetworks"}}).status().message(),
              HasSubstr("write one such as HcnModifyNetwork"));
  EXPECT_THAT(ReadFault(Json("*")).status().message(), HasSubstr("must be an object"));
  EXPECT_THAT(ReadFault(Json{{"first", 3u}}).status().message(), HasSubstr("is missing"));
  EXPECT_THAT(ReadFault(Json{{"function", "*"}, {"field", 1}}).status().message(),
              HasSubstr("no field"));
}

}  // namespace
}  // namespace weft::emulator
