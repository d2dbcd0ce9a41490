// SPDX-License-Identifier: Apache-2.0
#include "hns/emulator/remote/commands.h"

#include "gmock/gmock.h"
#include "hns/emulator/remote/remote_api.h"
#include "hns/emulator/remote/remote_server.h"
#include "hns/emulator/simple_host.h"
#include "tests/support/emulator_clock.h"

namespace weft::hns::emulator {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

class CommandsTest : public ::testing::Test {
 protected:
  absl::StatusOr<Json> Do(const char* command) {
    return CarryOut(emulator_, Json::parse(command, nullptr, false));
  }
  Hresult Read() { return emulator_.Enumerate(Kind::kNetwork, "").code; }

  testing::EmulatorClock clock_;
  SimpleHost host_;
  Emulator emulator_{clock_, host_};
};

TEST_F(CommandsTest, AFaultIsFeltAndCleared) {
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

TEST_F(CommandsTest, TheServiceStopsAndStarts) {
  ASSERT_TRUE(Do(R"({"command":"stop"})").ok());
  EXPECT_EQ(Read(), hresult::kNoMoreEndpoints);
  ASSERT_TRUE(Do(R"({"command":"start","networks":"lost"})").ok());
  EXPECT_EQ(Read(), hresult::kOk);
  EXPECT_TRUE(Do(R"({"command":"restart"})").ok());
  EXPECT_TRUE(Do(R"({"command":"reboot"})").ok());
}

TEST_F(CommandsTest, ARestartMayLoseOrDelayAnything) {
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
TEST_F(CommandsTest, AClientThatLivedThroughARestartMayBeAnOldOne) {
  const auto server = RemoteServer::Start("tcp:127.0.0.1:0", emulator_, nullptr, nullptr,
                                          [this] { return emulator_.NewProcess(); });
  ASSERT_TRUE(server.ok()) << server.status();
  RemoteApi before((*server)->address());
  EXPECT_EQ(before.Enumerate(Kind::kNetwork, "").code, hresult::kOk);
  ASSERT_TRUE(Do(R"({"command":"set","settings":{"processes_die":true}})").ok());
  ASSERT_TRUE(Do(R"({"command":"restart"})").ok());
  RemoteApi after((*server)->address());
  EXPECT_EQ(before.Enumerate(Kind::kNetwork, "").code, hresult::kRpcCallFailedDne);
  EXPECT_EQ(after.Enumerate(Kind::kNetwork, "").code, hresult::kOk);
}

TEST_F(CommandsTest, SettingsChangeOneByOne) {
  ASSERT_TRUE(Do(R"({"command":"set","settings":{"version":"9.5"}})").ok());
  ASSERT_TRUE(Do(R"({"command":"set","settings":{"atomic_batches":false}})").ok());
  EXPECT_EQ(emulator_.settings().version, (Version{9, 5}));
  EXPECT_FALSE(emulator_.settings().atomic_batches);
  EXPECT_FALSE(Do(R"({"command":"set","settings":{"weather":"fine"}})").ok());
}

TEST_F(CommandsTest, ADumpedWorldLoads) {
  const Json world = *Do(R"({"command":"dump"})");
  EXPECT_TRUE(CarryOut(emulator_, {{"command", "load"}, {"world", world}}).ok());
  EXPECT_EQ(*Do(R"({"command":"dump"})"), world);
  EXPECT_EQ(*Do(R"({"command":"handles"})"), Json({{"open", 0}, {"misuses", 0}}));
}

TEST_F(CommandsTest, WhatIsWrongIsNamed) {
  struct Row {
    const char* command;
    const char* says;
  };
  const Row rows[] = {
      {"dump", "a command is an object"},
      {"[]", "a command is an object"},
      {R"({"command":5})", "a command is an object"},
      {R"({"command":"load","world":{},"field":1})", "no field \"field\""},
      {R"({"command":"dance"})", "there are: calls clear-faults"},
      {R"({"command":"dump","field":1})", "no field \"field\""},
      {R"({"command":"fault"})", "\"function\" is missing"},
      {R"({"command":"fault","function":"*","count":-1})", "\"count\" must be a number"},
      {R"({"command":"fault","function":"Foo"})", "\"Foo\", which HNS does not have"},
      {R"({"command":"fault","function":"HNSCalls"})", "\"HNSCalls\", which HNS does not have"},
      {R"({"command":"restart","networks":"most"})", "kept, persistent-kept or lost"},
      {R"({"command":"restart","routes_kept":"no"})", "must be true or false"},
  };
  for (const Row& row : rows) {
    EXPECT_THAT(Do(row.command).status().message(), HasSubstr(row.says)) << row.command;
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
}  // namespace weft::hns::emulator
