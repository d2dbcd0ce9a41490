// SPDX-License-Identifier: Apache-2.0
// The contract of HNS behind hns::Api, as observed clients rely on it: include, derive an HnsRig,
// instantiate. Every implementation is in front of one emulator, which the tests control.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <ostream>
#include <set>
#include <source_location>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "control/emulator/hns/emulator.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hns/api/api.h"

#include "nlohmann/json.hpp"
#include "tests/support/emulator_clock.h"
#include "tests/support/ethernet_node.h"
#include "tests/support/wait.h"

namespace weft::testing {

class HnsRig {
 public:
  virtual ~HnsRig() = default;
  virtual hns::Api& api() = 0;

  EmulatorClock clock;
  EthernetNode node{clock};
  NodeHost host{node};
  hns::emulator::Emulator& emulator = node.hns();
};

struct HnsCase {
  std::string name;
  std::function<std::unique_ptr<HnsRig>()> make;
};
inline void PrintTo(const HnsCase& c, std::ostream* out) { *out << c.name; }

class HnsApiContract : public ::testing::TestWithParam<HnsCase> {
 protected:
  using Json = nlohmann::json;
  using Kind = hns::Kind;
  using Handle = hns::Handle;
  using Reply = hns::Reply;
  using Guid = hns::Guid;

  static constexpr const char* kV2 = R"({"SchemaVersion":{"Major":2,"Minor":0}})";
  // Byte for byte what upstream v0.28.9 sends.
  static constexpr const char* kOverlay =
      R"({"Name":"flannel.4096","Type":"Overlay","Policies":[{"Type":"NetAdapterName",)"
      R"("Settings":{"NetworkAdapterName":"Ethernet"}}],"MacPool":{},"Dns":{},"Ipams":[{"Type":)"
      R"("Static","Subnets":[{"IpAddressPrefix":"10.244.3.0/24","Policies":[{"Type":"VSID",)"
      R"("Settings":{"IsolationId":4096}}],"Routes":[{"NextHop":"10.244.3.1",)"
      R"("DestinationPrefix":"0.0.0.0/0"}]}]}],"Flags":8,"Health":{"Extra":{}},)"
      R"("SchemaVersion":{"Major":2,"Minor":0}})";

  std::unique_ptr<HnsRig> rig = GetParam().make();
  hns::emulator::Emulator& emulator = rig->emulator;
  hns::Api& api() { return rig->api(); }

  // --- documents
  static Json Overlay(const std::string& name = "flannel.4096",
                      const std::string& prefix = "10.244.3.0/24",
                      const std::string& gateway = "10.244.3.1", int vsid = 4096) {
    Json document = Json::parse(kOverlay);
    document["Name"] = name;
    Json& subnet = document["Ipams"][0]["Subnets"][0];
    subnet["IpAddressPrefix"] = prefix;
    subnet["Routes"][0]["NextHop"] = gateway;
    subnet["Policies"][0]["Settings"]["IsolationId"] = vsid;
    return document;
  }
  static Json Bridge(const std::string& name = "cbr0") {
    Json document = Overlay(name);
    document["Type"] = "L2Bridge";
    document["Ipams"][0]["Subnets"][0].erase("Policies");
    return document;
  }
  static Json Pod(const std::string& ip) {
    return {{"Name", "pod-" + ip},
            {"IpConfigurations", Json::array({{{"IpAddress", ip}, {"PrefixLength", 24}}})},
            {"SchemaVersion", {{"Major", 2}, {"Minor", 0}}}};
  }
  static Json Balancer() {
    return Json::parse(
        R"({"FrontendVIPs":["10.96.0.1"],"PortMappings":[{"Protocol":6,"ExternalPort":443}]})");
  }
  static Json Route(int peer) {
    const std::string n = std::to_string(peer);
    return {{"Type", "RemoteSubnetRoute"},
            {"Settings",
             {{"DestinationPrefix", "10.244." + n + ".0/24"},
              {"IsolationId", 4096},
              {"ProviderAddress", "192.168.1." + n},
              {"DistributedRouterMacAddress", "0e:2a:0a:f4:01:00"}}}};
  }
  static std::string Policies(const char* request, const std::vector<Json>& policies) {
    return Json{{"ResourceType", "Policy"},
                {"RequestType", request},
                {"Settings", {{"Policies", policies}}}}
        .dump();
  }
  static std::string Filter(const Json& filter) {
    return Json{{"SchemaVersion", {{"Major", 2}, {"Minor", 0}}}, {"Filter", filter.dump()}}.dump();
  }

  // --- calls
  Handle MustCreate(const Json& document, const Guid& id = Guid()) {
    const Reply reply = api().Create(Kind::kNetwork, Handle::kNone, id, document.dump());
    EXPECT_EQ(reply.code, hns::hresult::kOk) << reply.error_record;
    return reply.handle;
  }
  Handle MustCreateEndpoint(Handle network, const Json& document) {
    const Reply reply = api().Create(Kind::kEndpoint, network, Guid(), document.dump());
    EXPECT_EQ(reply.code, hns::hresult::kOk) << reply.error_record;
    return reply.handle;
  }
  // The answer's code for creating it; an open handle is closed.
  hns::Hresult Creating(Kind kind, Handle parent, const Json& document, const Guid& id = Guid()) {
    const Reply reply = api().Create(kind, parent, id, document.dump());
    if (reply.ok()) api().Close(kind, reply.handle);
    return reply.code;
  }
  hns::Hresult Creating(const Json& network) {
    return Creating(Kind::kNetwork, Handle::kNone, network);
  }
  Json Read(Kind kind, Handle handle, const std::string& query = kV2) {
    const Reply reply = api().Query(kind, handle, query);
    EXPECT_EQ(reply.code, hns::hresult::kOk) << reply.error_record;
    return Json::parse(reply.text, nullptr, false);
  }
  Json Network(Handle handle) { return Read(Kind::kNetwork, handle); }
  std::vector<std::string> Enumerate(Kind kind, const std::string& query = kV2) {
    const Reply reply = api().Enumerate(kind, query);
    EXPECT_EQ(reply.code, hns::hresult::kOk) << reply.error_record;
    return Json::parse(reply.text).get<std::vector<std::string>>();
  }
  Guid Only(Kind kind) {
    const std::vector<std::string> ids = Enumerate(kind);
    EXPECT_EQ(ids.size(), 1u);
    return ids.empty() ? Guid() : Guid::Parse(ids.front()).value();
  }
  std::string IdOf(Kind kind, Handle handle) { return Read(kind, handle)["ID"]; }
  hns::Hresult Modify(Handle network, const char* request, const std::vector<Json>& policies) {
    return api().Modify(Kind::kNetwork, network, Policies(request, policies)).code;
  }
  // The settings of all policies of a type, in order.
  std::vector<Json> SettingsOf(Handle network, const std::string& type) {
    std::vector<Json> settings;
    for (const auto& policy : Network(network).value("Policies", Json::array())) {
      if (policy["Type"] == type) settings.push_back(policy["Settings"]);
    }
    return settings;
  }
  // HNSCall's output; a failure is a test's failure.
  Json V1(const std::string& method, const std::string& path, const Json& request = Json()) {
    const Reply reply = api().Call(method, path, request.is_null() ? "" : request.dump());
    EXPECT_EQ(reply.code, hns::hresult::kOk) << reply.error_record;
    const Json answer = Json::parse(reply.text, nullptr, false);
    EXPECT_EQ(answer.value("Success", false), true) << reply.text;
    return answer.value("Output", Json());
  }
  // Waits for what another thread or a socket delivers; the test fails if it does not arrive.
  static void WaitUntil(const std::function<bool()>& arrived,
                        std::source_location where = std::source_location::current()) {
    EXPECT_TRUE(Await({std::chrono::seconds(20), where}, arrived));
  }
  void Switch(const std::function<void(hns::emulator::Settings&)>& change) {
    hns::emulator::Settings settings = emulator.settings();
    change(settings);
    emulator.Set(settings);
  }
};

}  // namespace weft::testing

#include "tests/contract/hns_api_calls.h"
#include "tests/contract/hns_api_life.h"
#include "tests/contract/hns_api_refusals.h"
#include "tests/contract/hns_api_v1.h"
