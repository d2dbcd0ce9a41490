// SPDX-License-Identifier: Apache-2.0
// The state of HNS as JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>

#include "control/emulator/hns/emulator.h"
#include "control/emulator/hns/model/settings_json.h"
#include "tests/support/emulator_clock.h"
#include "tests/support/ethernet_node.h"

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
  testing::EthernetNode node{clock};
  Emulator& hns = node.hns();

  Handle Create(const std::string& name) {
    const Reply reply = hns.Create(Kind::kNetwork, Handle::kNone, Guid(), Overlay(name));
    EXPECT_EQ(reply.code, hresult::kOk) << reply.error_record;
    return reply.handle;
  }
  std::size_t networks() { return Json::parse(hns.Enumerate(Kind::kNetwork, kV2).text).size(); }
  std::string Everything() { return hns.Call("GET", "/networks/", "").text; }
};

TEST(HnsStateTest, IsTheSameAfterSavingAndLoading) {
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
  a.hns.Stop();

  const std::string saved = a.hns.StateText();
  ASSERT_TRUE(b.hns.LoadState(saved).ok()) << b.hns.LoadState(saved);
  EXPECT_EQ(b.hns.StateText(), saved);
  EXPECT_EQ(b.hns.Call("GET", "/networks/", "").code, hresult::kNoMoreEndpoints);
  a.hns.Start();
  b.hns.Start();
  for (const char* path : {"/networks/", "/endpoints/", "/namespaces/", "/policylists/"}) {
    EXPECT_EQ(a.hns.Call("GET", path, "").text, b.hns.Call("GET", path, "").text) << path;
  }
  // And both continue alike: the next id is the same.
  a.Create("next");
  b.Create("next");
  EXPECT_EQ(a.Everything(), b.Everything());
}

TEST(HnsStateTest, UnreadableTextIsNamedAndChangesNothing) {
  Machine machine;
  machine.Create("n");
  const std::string before = machine.hns.StateText();
  for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
           {"[", "no JSON object"},
           {R"({"settings":{"latency":5}})", "no setting `latency`"},
           {R"({"settings":{"latency_ms":"5"}})", "latency_ms is not an unsigned number"},
           {R"({"settings":{"version":"13"}})", "version is no version"},
           {R"({"settings":{"latency_ms":31536000001}})", "latency_ms is longer than a year"},
           {R"({"settings":{"policy_cost_us":"5"}})", "policy_cost_us is not an unsigned number"},
           {R"({"settings":{"dead_handle_code":"x"}})",
            "dead_handle_code is no hexadecimal number"},
           {R"({"settings":{"duplicates":"x"}})", "duplicates is no word that is known"},
           {R"({"settings":{"version":"x.3"}})", "version is no version"},
           {R"({"settings":{"version":"13.x"}})", "version is no version"},
           {R"({"settings":[]})", "settings: the document is not an object"},
           {R"({"networks":[{"id":"7","type":"NAT"}]})", R"(networks[0].id "7" is not a GUID)"},
           {R"({"networks":[{"id":"55fedb88-4b11-4da4-8cd1-59970718a804","type":"NAT",)"
            R"("ipams":5}]})",
            "networks[0].ipams is of another type"},
           {R"({"networks":[{"id":"55fedb88-4b11-4da4-8cd1-59970718a804","type":"NAT",)"
            R"("policies":5}]})",
            "networks[0].policies is not an array"},
           {R"({"networks":[{"id":"55fedb88-4b11-4da4-8cd1-59970718a804","type":"NAT",)"
            R"("policies":[{"Type":"ACL","Settings":5}]}]})",
            "networks[0].policies[0].Settings is not an object"},
           {R"({"networks":[{"id":"55fedb88-4b11-4da4-8cd1-59970718a804","type":""}]})",
            "networks[0].type is empty"},
           {R"({"networks":[{"id":"55fedb88-4b11-4da4-8cd1-59970718a804","type":"NAT",)"
            R"("ipams":[{"Type":"Other"}]}]})",
            "networks[0].ipams is none of HNS"},
           {R"({"endpoints":[{"id":"55fedb88-4b11-4da4-8cd1-59970718a804",)"
            R"("namespace":"00000000-0000-0000-0000-000000000000"}]})",
            "endpoints[0].network is missing"},
           {R"({"endpoints":[{"id":"55fedb88-4b11-4da4-8cd1-59970718a804",)"
            R"("network":"55fedb88-4b11-4da4-8cd1-59970718a804",)"
            R"("namespace":"00000000-0000-0000-0000-000000000000","addresses":[{"ip":"x"}]}]})",
            "endpoints[0].addresses[0].ip is not an IP address"},
           {R"({"namespaces":[{"id":"55fedb88-4b11-4da4-8cd1-59970718a804",)"
            R"("endpoints":["7"]}]})",
            R"(namespaces[0].endpoints[0] "7" is not a GUID)"},
           {R"({"endpoints":[{}]})", "endpoints[0].id is missing"},
           {R"({"taken_names_until_ms":[1]})", "taken_names_until_ms is not an object"},
           {R"({"taken_names_until_ms":{"n":"x"}})",
            "taken_names_until_ms has a time that is none"}}) {
    const absl::Status status = machine.hns.LoadState(text);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
  }
  EXPECT_EQ(machine.hns.StateText(), before);
}

TEST(HnsStateTest, EndpointWhoseNetworkIsMissingIsShown) {
  Machine machine;
  ASSERT_TRUE(machine.hns
                  .LoadState(R"({"settings":{"all_endpoint_states":true},"endpoints":[{)"
                             R"("id":"55fedb88-4b11-4da4-8cd1-59970718a804",)"
                             R"("network":"55fedb88-4b11-4da4-8cd1-59970718a805",)"
                             R"("namespace":"00000000-0000-0000-0000-000000000000"}]})")
                  .ok());
  EXPECT_THAT(machine.hns.Call("GET", "/endpoints/", "").text, HasSubstr(R"("State":1)"));
}

TEST(HnsStateTest, ANetworkOfTheMachineAloneHasNoAdapterToLose) {
  Machine machine;
  EXPECT_TRUE(machine.hns.Create(Kind::kNetwork, Handle::kNone, Guid(), R"({"Type":"NAT"})").ok());
  machine.hns.RestartService({.adapter_ids_new = true});
  EXPECT_THAT(machine.hns.StateText(), HasSubstr(R"("switches": [])"));
  EXPECT_THAT(machine.hns.StateText(), HasSubstr(R"("unbound": false)"));
}

TEST(HnsStateTest, TheVersionIsThatOfTheText) {
  Machine machine;
  const auto changes = [&](auto call) {
    const std::uint64_t before = machine.hns.version();
    call();
    return machine.hns.version() != before;
  };
  Handle network = Handle::kNone;
  EXPECT_TRUE(changes([&] { network = machine.Create("n"); }));
  EXPECT_FALSE(changes([&] { machine.Everything(); }));
  const auto add_the_name_again = [&] {
    EXPECT_FALSE(machine.hns.Create(Kind::kNetwork, Handle::kNone, Guid(), Overlay("n")).ok());
  };
  EXPECT_FALSE(changes(add_the_name_again));
  // A refused batch may have been applied in part.
  Settings settings;
  settings.atomic_batches = false;
  machine.hns.Set(settings);
  EXPECT_TRUE(changes(add_the_name_again));
  settings.atomic_batches = true;
  settings.batch_applied = 1;
  machine.hns.Set(settings);
  EXPECT_TRUE(changes(add_the_name_again));
}

TEST(HnsStateTest, EverySettingIsWrittenAndRead) {
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

}  // namespace
}  // namespace weft::hns::emulator
