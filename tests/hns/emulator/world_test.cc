// SPDX-License-Identifier: Apache-2.0
// The world as JSON, and shared through a file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "hns/emulator/emulator.h"
#include "hns/emulator/settings_json.h"
#include "hns/emulator/simple_host.h"
#include "hns/emulator/world_file.h"
#include "tests/support/emulator_clock.h"

namespace weft::hns::emulator {
namespace {

using ::testing::HasSubstr;

constexpr const char* kV2 = R"({"SchemaVersion":{"Major":2,"Minor":0}})";

std::string Overlay(const std::string& name) {
  return R"({"Name":")" + name +
         R"(","Type":"Overlay","Flags":8,"Ipams":[{"Subnets":[{)"
         R"("IpAddressPrefix":"10.244.3.0/24","Policies":[{"Type":"VSID","Settings":)"
         R"({"IsolationId":4096}}],"Routes":[{"NextHop":"10.244.3.1"}]}]}]})";
}
std::string AddRoute(int n) {
  return R"({"ResourceType":"Policy","RequestType":"Add","Settings":{"Policies":[{"Type":)"
         R"("RemoteSubnetRoute","Settings":{"DestinationPrefix":"10.)" +
         std::to_string(n / 256) + "." + std::to_string(n % 256) +
         R"(.0/24","IsolationId":4096,"ProviderAddress":"192.0.2.1",)"
         R"("DistributedRouterMacAddress":"0e:2a:0a:f4:01:00"}}]}})";
}

struct Machine {
  testing::EmulatorClock clock;
  SimpleHost host;
  Emulator hns{clock, host};

  Handle Create(const std::string& name) {
    const Reply reply = hns.Create(Kind::kNetwork, Handle::kNone, Guid(), Overlay(name));
    EXPECT_EQ(reply.code, hresult::kOk) << reply.error_record;
    return reply.handle;
  }
  std::size_t networks() { return Json::parse(hns.Enumerate(Kind::kNetwork, kV2).text).size(); }
  std::string Everything() { return hns.Call("GET", "/networks/", "").text; }
};

TEST(WorldTest, IsTheSameAfterSavingAndLoading) {
  Machine a, b;
  const Handle network = a.Create("n");
  a.hns.Modify(Kind::kNetwork, network, AddRoute(1));
  const Reply pod =
      a.hns.Create(Kind::kEndpoint, network, Guid(),
                   R"({"Name":"p","IpConfigurations":[{"IpAddress":"10.244.3.5"}],"Policies":)"
                   R"([{"Type":"OutBoundNAT","Settings":{"Exceptions":["10.0.0.0/8"]}}]})");
  const std::string id = Json::parse(a.hns.Query(Kind::kEndpoint, pod.handle, kV2).text)["ID"];
  const Reply space = a.hns.Create(Kind::kNamespace, Handle::kNone, Guid(), "{}");
  a.hns.Modify(Kind::kNamespace, space.handle,
               R"({"ResourceType":"Endpoint","RequestType":"Add","Settings":{"EndpointId":")" + id +
                   R"("}})");
  a.hns.Create(Kind::kLoadBalancer, Handle::kNone, Guid(),
               R"({"HostComputeEndpoints":[")" + id + R"("],"FrontendVIPs":["10.96.0.1"]})");
  a.hns.TakeName("ghost");
  a.hns.StopService();

  const std::string saved = a.hns.SaveWorld();
  ASSERT_TRUE(b.hns.LoadWorld(saved).ok()) << b.hns.LoadWorld(saved);
  EXPECT_EQ(b.hns.SaveWorld(), saved);
  EXPECT_EQ(b.hns.Call("GET", "/networks/", "").code, hresult::kNoMoreEndpoints);
  a.hns.StartService();
  b.hns.StartService();
  for (const char* path : {"/networks/", "/endpoints/", "/namespaces/", "/policylists/"}) {
    EXPECT_EQ(a.hns.Call("GET", path, "").text, b.hns.Call("GET", path, "").text) << path;
  }
  // And goes on alike: the next id is the same.
  a.Create("next");
  b.Create("next");
  EXPECT_EQ(a.Everything(), b.Everything());
}

TEST(WorldTest, WhatCannotBeReadIsNamedAndChangesNothing) {
  Machine machine;
  machine.Create("n");
  const std::string before = machine.hns.SaveWorld();
  for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
           {"[", "no JSON object"},
           {R"({"settings":{"latency":5}})", "no setting `latency`"},
           {R"({"settings":{"latency_ms":"5"}})", "`latency_ms` cannot be \"5\""},
           {R"({"settings":{"version":"13"}})", "`version`"},
           {R"({"settings":{"latency_ms":31536000001}})", "`latency_ms`"},
           {R"({"settings":{"policy_cost_us":"5"}})", "`policy_cost_us`"},
           {R"({"settings":{"dead_handle_code":"x"}})", "`dead_handle_code`"},
           {R"({"settings":{"version":"x.3"}})", "`version`"},
           {R"({"settings":[]})", "`settings` is no JSON object"},
           {R"({"networks":[{"id":"7","type":"NAT"}]})", "one of `networks`"},
           {R"({"networks":[{"id":"55fedb88-4b11-4da4-8cd1-59970718a804","type":"NAT",)"
            R"("ipams":5}]})",
            "one of `networks`"},
           {R"({"networks":[{"id":"55fedb88-4b11-4da4-8cd1-59970718a804","type":"NAT",)"
            R"("policies":5}]})",
            "one of `networks`"},
           {R"({"endpoints":[{"id":"55fedb88-4b11-4da4-8cd1-59970718a804",)"
            R"("namespace":"00000000-0000-0000-0000-000000000000"}]})",
            "one of `endpoints`"},
           {R"({"endpoints":[{"id":"55fedb88-4b11-4da4-8cd1-59970718a804",)"
            R"("network":"55fedb88-4b11-4da4-8cd1-59970718a804",)"
            R"("namespace":"00000000-0000-0000-0000-000000000000","addresses":[{"ip":"x"}]}]})",
            "one of `endpoints`"},
           {R"({"namespaces":[{"id":"55fedb88-4b11-4da4-8cd1-59970718a804",)"
            R"("endpoints":["7"]}]})",
            "one of `namespaces`"},
           {R"({"endpoints":[{}]})", "one of `endpoints`"},
           {R"({"taken_names_until_ms":[1]})", "`taken_names_until_ms`"}}) {
    const absl::Status status = machine.hns.LoadWorld(text);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
  }
  EXPECT_EQ(machine.hns.SaveWorld(), before);
}

TEST(WorldTest, EndpointWhoseNetworkIsMissingIsShown) {
  Machine machine;
  ASSERT_TRUE(machine.hns
                  .LoadWorld(R"({"settings":{"all_endpoint_states":true},"endpoints":[{)"
                             R"("id":"55fedb88-4b11-4da4-8cd1-59970718a804",)"
                             R"("network":"55fedb88-4b11-4da4-8cd1-59970718a805",)"
                             R"("namespace":"00000000-0000-0000-0000-000000000000"}]})")
                  .ok());
  EXPECT_THAT(machine.hns.Call("GET", "/endpoints/", "").text, HasSubstr(R"("State":1)"));
}

TEST(WorldTest, EverySettingIsWrittenAndRead) {
  Json json = SettingsJson(Settings());
  for (auto& [name, value] : json.items()) {  // something else than the default
    if (value.is_boolean()) value = !value.get<bool>();
    if (value.is_number()) value = value.get<std::uint64_t>() + 7;
    if (value.is_string() && value.get<std::string>().starts_with("0x")) value = "0x800706BE";
  }
  json["version"] = "9.5";
  json["language"] = "de";
  json["duplicates"] = "refused-by-prefix";
  json["unknown_filter"] = "ignored";
  json["v1_failures"] = "text";
  json["host_adapter"] = "Switch of *";
  json["adapter_choice"] = "random";
  const auto settings = ReadSettings(json);
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(SettingsJson(*settings), json);
}

class WorldFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ =
        std::filesystem::temp_directory_path() / (std::string("weft_hns_world_") + info->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
  std::string path() const { return (folder_ / "world.json").string(); }
};

// Two processes, as far as the file can tell.
TEST_F(WorldFileTest, ShowsToEachWhatTheOtherDid) {
  Machine a, b;
  WorldFile file_a(path()), file_b(path());
  ASSERT_TRUE(a.hns.KeepIn(&file_a).ok());
  ASSERT_TRUE(b.hns.KeepIn(&file_b).ok());
  std::vector<Notification> told;
  b.hns.Subscribe([&](Notification type, std::string_view) { told.push_back(type); });

  const Handle in_a = a.Create("n");
  EXPECT_EQ(b.networks(), 1u);
  EXPECT_EQ(a.Everything(), b.Everything());
  EXPECT_THAT(told, ::testing::ElementsAre(Notification::kNetworkCreate));
  a.hns.Modify(Kind::kNetwork, in_a, AddRoute(1));
  EXPECT_EQ(a.Everything(), b.Everything());

  const Handle in_b = b.Create("m");
  a.hns.RestartService();
  EXPECT_EQ(b.hns.Query(Kind::kNetwork, in_b, kV2).code, hresult::kRpcCallFailedDne);
  EXPECT_EQ(told.back(), Notification::kServiceDisconnect);
  EXPECT_EQ(b.networks(), 2u);
}

TEST_F(WorldFileTest, OutlivesTheProcess) {
  {
    Machine machine;
    WorldFile file(path());
    ASSERT_TRUE(machine.hns.KeepIn(&file).ok());
    machine.Create("n");
  }
  Machine machine;
  WorldFile file(path());
  ASSERT_TRUE(machine.hns.KeepIn(&file).ok());
  EXPECT_EQ(machine.networks(), 1u);
}

TEST_F(WorldFileTest, MayBeWrittenByHand) {
  Machine machine;
  WorldFile file(path());
  ASSERT_TRUE(machine.hns.KeepIn(&file).ok());
  std::ofstream(path()) << R"({"settings":{"version":"9.1"}})";
  EXPECT_THAT(machine.hns.Call("GET", "/globals/version", "").text, HasSubstr(R"("Minor":1)"));
  std::ofstream(path()) << R"({"settings":)";
  const Reply reply = machine.hns.Call("GET", "/globals/version", "");
  EXPECT_EQ(reply.code, hresult::kUnspecified);
  EXPECT_THAT(reply.error_record, HasSubstr("no JSON object"));
  std::ofstream(path()) << "{}";
  EXPECT_EQ(machine.hns.Call("GET", "/globals/version", "").code, hresult::kOk);
}

// What a batch left behind goes into the file, though the batch was refused.
TEST_F(WorldFileTest, ShowsWhatWasAppliedInPart) {
  Machine a, b;
  WorldFile file_a(path()), file_b(path());
  ASSERT_TRUE(a.hns.KeepIn(&file_a).ok());
  Settings settings;
  settings.batch_applied = 1;
  const std::string both =
      R"({"ResourceType":"Policy","RequestType":"Add","Settings":{"Policies":[)"
      R"({"Type":"HostRoute"},{"Type":"Wish"}]}})";
  const auto routes_in_b = [&] {
    const std::string networks = b.Everything();
    return Json::parse(networks)["Output"][0]["Policies"].size();
  };
  const Handle network = a.Create("n");
  ASSERT_TRUE(b.hns.KeepIn(&file_b).ok());
  EXPECT_EQ(a.hns.Modify(Kind::kNetwork, network, both).code, hresult::kInvalidPolicyType);
  EXPECT_EQ(routes_in_b(), 0u);
  a.hns.Set(settings);
  EXPECT_EQ(a.hns.Modify(Kind::kNetwork, network, both).code, hresult::kInvalidArgument);
  EXPECT_EQ(routes_in_b(), 1u);
  settings.batch_applied = 0;
  settings.atomic_batches = false;
  a.hns.Set(settings);
  EXPECT_EQ(a.hns.Modify(Kind::kNetwork, network, both).code, hresult::kInvalidPolicyType);
  EXPECT_EQ(routes_in_b(), 2u);
}

TEST_F(WorldFileTest, FolderThatIsNotThereIsNamed) {
  Machine machine;
  WorldFile file((folder_ / "no" / "world.json").string());
  const std::string message(machine.hns.KeepIn(&file).message());
  EXPECT_THAT(message, HasSubstr("cannot open its lock"));
  EXPECT_THAT(message, HasSubstr("world.json.lock"));
}

TEST_F(WorldFileTest, FileThatCannotBeReadIsNamed) {
  Machine machine;
  WorldFile file(path());
  std::filesystem::create_directories(path());
  EXPECT_THAT(std::string(machine.hns.KeepIn(&file).message()), HasSubstr("cannot read"));
}

TEST_F(WorldFileTest, FileThatCannotBeWrittenIsNamed) {
  Machine machine;
  WorldFile file(path());
  std::filesystem::create_directories(path() + ".new");
  EXPECT_THAT(std::string(machine.hns.KeepIn(&file).message()), HasSubstr("cannot write"));
}

}  // namespace
}  // namespace weft::hns::emulator
