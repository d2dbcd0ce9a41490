// SPDX-License-Identifier: Apache-2.0
#include "control/cni/plugin_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "nlohmann/json.hpp"
#include "tests/control/admin/golden.h"

namespace weft::cni {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::ordered_json;

NodeFacts Node() {
  NodeFacts facts;
  facts.network = "flannel.4096";
  facts.cluster = {*IpPrefix::Parse("10.244.0.0/16")};
  facts.subnet = IpPrefix::Parse("10.244.3.0/24");
  facts.services = {*IpPrefix::Parse("10.96.0.0/12")};
  facts.node = IpAddress::Parse("10.0.0.8");
  facts.store = R"(C:\var\lib\cni\networks)";
  facts.subnet_file = R"(C:\run\flannel\subnet.env)";
  facts.flannel_data = R"(C:\var\lib\cni\flannel)";
  facts.dsr = true;
  return facts;
}

// "MEMBER: FINDING" of each finding.
std::vector<std::string> Findings(std::string_view text, const NodeFacts& facts = Node(),
                                  std::string_view name = {}) {
  const auto remarks = ExplainConfig(text, facts, name);
  if (!remarks.ok()) return {std::string(remarks.status().message())};
  std::vector<std::string> findings;
  for (const Remark& each : *remarks)
    if (!each.finding.empty()) findings.push_back(each.member + ": " + each.finding);
  return findings;
}

struct Form {
  const char* name;
  ConfigChoice choice;
};
void PrintTo(const Form& form, std::ostream* out) { *out << form.name; }

class FormTest : public ::testing::TestWithParam<Form> {};
INSTANTIATE_TEST_SUITE_P(Plugins, FormTest,
                         ::testing::Values(Form{"win_overlay", {Plugin::kWinOverlay}},
                                           Form{"win_overlay_all",
                                                {Plugin::kWinOverlay, false, true, true}},
                                           Form{"sdnoverlay", {Plugin::kSdnOverlay, false, true}},
                                           Form{"win_bridge", {Plugin::kWinBridge}},
                                           Form{"flannel_win_overlay", {Plugin::kWinOverlay, true}},
                                           Form{"flannel_sdnoverlay", {Plugin::kSdnOverlay, true}},
                                           Form{"flannel_win_bridge", {Plugin::kWinBridge, true}}),
                         [](const auto& each) { return each.param.name; });

TEST_P(FormTest, IsItsGoldenAndHasNoFinding) {
  const auto text = ConfigText(GetParam().choice, Node());
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_TRUE(MatchesGolden(*text, std::string("cni/") + GetParam().name + ".json"));
  EXPECT_THAT(Findings(*text), IsEmpty());
  EXPECT_THAT(Findings(*text, NodeFacts()), IsEmpty()) << "what is not known is not compared";
}

TEST_P(FormTest, ANetworkThatIsInTheOtherIsExceptedOnce) {
  NodeFacts facts = Node();
  facts.services.push_back(facts.cluster[0]);
  const std::string text = ConfigText(GetParam().choice, facts).value();
  const std::size_t list = text.find("Exceptions"), end = text.find(']', list);
  const std::size_t first = text.find("10.244.0.0/16", list);
  EXPECT_LT(first, end);
  EXPECT_GT(text.find("10.244.0.0/16", first + 1), end);
}

TEST(ConfigTextTest, WhatIsMissingIsNamed) {
  struct Row {
    ConfigChoice choice;
    std::function<void(NodeFacts&)> change;
    const char* error;
  };
  const Row rows[] = {
      {{}, [](NodeFacts& f) { f.network = ""; }, "win-overlay needs the network's name in HNS"},
      {{}, [](NodeFacts& f) { f.cluster = {}; }, "win-overlay needs net-conf's Network"},
      {{}, [](NodeFacts& f) { f.services = {}; }, "win-overlay needs the service CIDR"},
      {{}, [](NodeFacts& f) { f.subnet.reset(); }, "win-overlay needs the node's subnet"},
      {{Plugin::kSdnOverlay},
       [](NodeFacts& f) { f.node.reset(); },
       "sdnoverlay needs the node's address"},
      {{Plugin::kWinBridge},
       [](NodeFacts& f) { f.node.reset(); },
       "win-bridge needs the node's address"},
      {{Plugin::kWinBridge, false, false, true},
       [](NodeFacts&) {},
       "win-bridge's network encapsulates nothing"},
      {{Plugin::kWinOverlay, false, true},
       [](NodeFacts& f) { f.dsr = false; },
       "this HNS has no DSR (it needs 9.3 to 9.x, or 10.2)"},
  };
  for (const Row& row : rows) {
    NodeFacts facts = Node();
    row.change(facts);
    EXPECT_EQ(ConfigText(row.choice, facts).status().message(), row.error);
  }
  NodeFacts facts = Node();
  facts.subnet.reset();
  EXPECT_TRUE(ConfigText({Plugin::kWinOverlay, true}, facts).ok()) << "flannel reads it itself";
  facts = Node();
  facts.node.reset();
  facts.dsr = false;
  EXPECT_TRUE(ConfigText({}, facts).ok()) << "neither is in it";
}

// One change of a good configuration each.
TEST(ExplainConfigTest, WhatIsWrongIsNamed) {
  struct Row {
    ConfigChoice choice;
    const char* pointer;
    Json value;  // null: removed
    const char* finding;
  };
  const ConfigChoice overlay, bridge{Plugin::kWinBridge}, sdn{Plugin::kSdnOverlay},
      flannel{Plugin::kWinOverlay, true};
  const Row rows[] = {
      {overlay, "/name", "cbr0",
       "name: flanneld's network is flannel.4096: no pod can start in it; set name to that"},
      {overlay, "/name", nullptr, "name: it is missing, or no text; containerd refuses the file"},
      {overlay, "/name", 7, "name: it is missing, or no text; containerd refuses the file"},
      {overlay, "/cniVersion", 1.0, "cniVersion: it is none of 0.2.0, "},
      {overlay, "/disableCheck", "yes", "disableCheck: it is not true or false"},
      {overlay, "/disableCheck", "True", ""},
      {overlay, "/disableGC", "false", ""},
      {overlay, "/disableGC", true, ""},
      {overlay, "/plugins/0/type", 7, "plugins[0].type: it is not a text: containerd refuses"},
      {overlay, "/plugins/0/capabilities/portMappings", "true",
       "plugins[0].capabilities: it is not an object of true and false: containerd refuses"},
      {overlay, "/plugins/0/capabilities", true,
       "plugins[0].capabilities: it is not an object of true and false"},
      {overlay, "/plugins/0/dns", {{"search", Json::array({nullptr})}}, ""},
      {overlay,
       "/plugins/0/dns",
       {{"search", Json::array({7})}},
       "plugins[0].dns.search: it is not a list of texts: containerd refuses the file"},
      {overlay,
       "/plugins/0/dns",
       {{"search", "svc.cluster.local"}},
       "plugins[0].dns.search: it is not a list of texts: containerd refuses the file"},
      {overlay, "/plugins/0/apiVersion", "2",
       "plugins[0].apiVersion: it is not a whole number: win-overlay starts no pods"},
      {overlay, "/plugins/0/apiVersion", 2.5, "plugins[0].apiVersion: it is not a whole number"},
      {overlay, "/plugins/0/apiVersion", 2.0, ""},
      {overlay, "/plugins/0/loopbackDSR", "true",
       "plugins[0].loopbackDSR: it is not true or false: win-overlay starts no pods"},
      {overlay, "/plugins/0/ipam", "host-local", "plugins[0].ipam: it is not an object"},
      {overlay, "/plugins/0/ipam/dataDir", 7,
       "plugins[0].ipam.dataDir: it is not a text: host-local gives no addresses"},
      {overlay, "/plugins/0/ipam/ranges/0/0/rangeEnd", 9,
       "plugins[0].ipam.ranges[0][0].rangeEnd: it is not a text: host-local gives no addresses"},
      {sdn,
       "/plugins/0/optionalFlags",
       {{"loopbackDSR", 1}},
       "plugins[0].optionalFlags.loopbackDSR: it is not true or false: sdnoverlay starts no pods"},
      {flannel, "/plugins/0/subnetFile", 7,
       "plugins[0].subnetFile: it is not a text: flannel starts no pods"},
      {flannel, "/plugins/0/delegate/type", 7, "plugins[0].delegate.type: it names no plugin"},
      {overlay, "/cniVersion", "9.0.0", "cniVersion: it is none of 0.2.0, "},
      {overlay, "/cniVersion", nullptr, "cniVersion: it is none of 0.2.0, "},
      {overlay, "/plugins", Json::array(), "plugins: no list with a plugin"},
      {overlay, "/plugins", "win-overlay", "plugins: no list with a plugin"},
      {overlay, "/plugins", nullptr, "plugins: none: containerd refuses the file"},
      {overlay, "/plugins/0/type", nullptr, "plugins[0].type: it is missing"},
      {overlay, "/plugins/0/apiVersion", nullptr, "plugins[0].apiVersion: without 2 the plugin"},
      {overlay, "/plugins/0/apiVersion", 1, "plugins[0].apiVersion: without 2 the plugin"},
      {overlay, "/plugins/0/endpointMacPrefix", "0E-2A", ""},
      {overlay, "/plugins/0/endpointMacPrefix", "0E:2A", "it is not of the form 0E-2A"},
      {overlay, "/plugins/0/endpointMacPrefix", "0E-2A-", "it is not of the form 0E-2A"},
      {sdn, "/plugins/0/endpointMacPrefix", "0E", ""},
      {overlay, "/plugins/0/loopbackDSR", true, ""},
      {overlay, "/plugins/0/AdditionalArgs", Json::array(),
       "plugins[0].AdditionalArgs: win-overlay does not read it; move its entries to policies"},
      {sdn, "/plugins/0/policies", Json::array(),
       "plugins[0].policies: sdnoverlay does not read it; move its entries to AdditionalArgs"},
      {overlay, "/plugins/0/policies", 7, "plugins[0].policies: it is no list"},
      {overlay, "/plugins/0/policies/0/name", "Policy",
       "plugins[0].policies[0]: the plugins take entries with name \"EndpointPolicy\""},
      {overlay, "/plugins/0/policies/0/value", nullptr,
       "plugins[0].policies[0]: the plugins take entries with name \"EndpointPolicy\""},
      {overlay, "/plugins/0/policies/0/value/Type", "ACL",
       "plugins[0].policies: nothing outside of the cluster can answer pods"},
      {overlay, "/plugins/0/policies/0/value/Settings/Exceptions", Json::array({"10.244.0.0/16"}),
       "plugins[0].policies: its Exceptions lack 10.96.0.0/12"},
      {overlay, "/plugins/0/policies/0/value/Settings/Exceptions", Json::array({"10.0.0.0/8", "x"}),
       "plugins[0].policies[0]: an exception is no CIDR"},
      {overlay, "/plugins/0/policies/0/value/Settings/Exceptions", "10.0.0.0/8",
       "plugins[0].policies[0]: an exception is no CIDR"},
      {overlay, "/plugins/0/policies/0/value/Settings/Exceptions", nullptr,
       "plugins[0].policies[0]: an exception is no CIDR"},
      {overlay, "/plugins/0/policies/0/value/ExceptionList", Json::array(),
       "ExceptionList is of HNS's first schema"},
      {overlay, "/plugins/0/policies/1/value/Settings/NeedEncap", false,
       "plugins[0].policies[1]: it needs DestinationPrefix, a CIDR, and NeedEncap true"},
      {overlay, "/plugins/0/policies/1/value/Settings/NeedEncap", nullptr,
       "plugins[0].policies[1]: it needs DestinationPrefix, a CIDR, and NeedEncap true"},
      {overlay, "/plugins/0/policies/1/value/Settings/DestinationPrefix", "all",
       "plugins[0].policies[1]: it needs DestinationPrefix, a CIDR, and NeedEncap true"},
      {overlay, "/plugins/0/policies/1/value/Settings/DestinationPrefix", "10.97.0.0/16",
       "plugins[0].policies: packets of pods to services of 10.96.0.0/12 are not encapsulated"},
      {overlay, "/plugins/0/policies/1/value/Type", "ROUTE", "ROUTE is of HNS's first schema"},
      {overlay, "/plugins/0/policies/1/value/Type", "ROUTE",
       "plugins[0].policies: packets of pods to services of 10.96.0.0/12 are not encapsulated"},
      {sdn, "/plugins/0/AdditionalArgs/2/value/Settings/ProviderAddress", "10.0.0.9",
       "the network's address is 10.0.0.8"},
      {sdn, "/plugins/0/AdditionalArgs/2/value/Type", "PA", "PA is of HNS's first schema"},
      {sdn, "/plugins/0/AdditionalArgs/2/value/Type", "ACL",
       "sdnoverlay adds none by itself; add the node's address"},
      {overlay,
       "/plugins/0/policies/2",
       {{"name", "EndpointPolicy"}, {"value", {{"type", "EncapOverhead"}}}},
       "Overhead is no number; write 50"},
      {{Plugin::kWinOverlay, false, false, true},
       "/plugins/0/policies/2/value/Settings/Overhead",
       "50",
       "Overhead is no number; write 50"},
      {overlay, "/plugins/0/ipam", nullptr, "plugins[0].ipam.type: nothing gives pods"},
      {overlay, "/plugins/0/ipam/ranges/0/0/subnet", "10.244.4.0/24",
       "plugins[0].ipam.ranges[0][0].subnet: the node's subnet is 10.244.3.0/24"},
      {overlay, "/plugins/0/ipam/ranges/0/0/subnet", "all", "it is no IPv4 CIDR, as 10.244.1.0/24"},
      {overlay, "/plugins/0/ipam/ranges", 7, "plugins[0].ipam.ranges: it is not a list"},
      {overlay, "/plugins/0/ipam/ranges", Json::array(),
       "plugins[0].ipam.subnet: it is no IPv4 CIDR"},
      {overlay, "/plugins/0/ipam/ranges/0", 7, "plugins[0].ipam.subnet: it is no IPv4 CIDR"},
      {overlay, "/plugins/0/ipam/ranges/0", Json::array(),
       "plugins[0].ipam.subnet: it is no IPv4 CIDR"},
      {bridge, "/plugins/0/ipam/ranges/0/0/subnet", "fd00::/64", "it is no IPv4 CIDR"},
      {sdn, "/plugins/0/ipam/ranges", Json::array({Json::array({{{"subnet", "10.244.3.0/24"}}})}),
       "sdnoverlay passes on `subnet` only"},
      {overlay, "/plugins/0/ipam/dataDir", R"(D:\cni)",
       "plugins[0].ipam.dataDir: flanneld reserves kube-proxy's source VIP in"},
      {overlay, "/plugins/0/ipam/dataDir", "/var/lib/cni/networks/", ""},
      {overlay, "/plugins/0/ipam/dataDir", nullptr, ""},
      {sdn, "/plugins/0/ipam/dataDir", R"(D:\cni)", ""},
      {bridge, "/plugins/0/ipam/ranges/0/0/rangeStart", nullptr,
       "plugins[0].ipam.rangeStart: 10.244.3.2 is flanneld's own on the bridge"},
      {bridge, "/plugins/0/ipam/ranges/0/0/rangeStart", "ffff::1",
       "plugins[0].ipam.rangeStart: 10.244.3.2 is flanneld's own on the bridge"},
      {bridge, "/plugins/0/ipam/ranges/0/0/rangeStart", "10.244.3.2",
       "plugins[0].ipam.rangeStart: 10.244.3.2 is flanneld's own on the bridge"},
      {flannel, "/plugins/0/subnetFile", "/run/other.env",
       R"(plugins[0].subnetFile: flanneld writes C:\run\flannel\subnet.env)"},
      {flannel, "/plugins/0/subnetFile", nullptr, ""},
      {flannel, "/plugins/0/delegate/name", "x", "plugins[0].delegate.name: flannel refuses"},
      {flannel, "/plugins/0/delegate/ipam", Json::object(), "flannel refuses a delegate"},
      {flannel, "/plugins/0/delegate", 7, "delegate is no object; flannel refuses it"},
  };
  for (const Row& row : rows) {
    Json config = Json::parse(ConfigText(row.choice, Node()).value());
    const Json::json_pointer pointer(row.pointer);
    if (row.value.is_null())
      config[pointer.parent_pointer()].erase(pointer.back());
    else
      config[pointer] = row.value;
    const std::vector<std::string> found = Findings(config.dump());
    if (*row.finding == '\0')
      EXPECT_THAT(found, IsEmpty()) << row.pointer;
    else
      EXPECT_THAT(found, ::testing::Contains(HasSubstr(row.finding))) << row.pointer;
  }
}

TEST(ExplainConfigTest, APluginForTheOtherBackendIsNamed) {
  for (const Plugin plugin : {Plugin::kWinOverlay, Plugin::kSdnOverlay, Plugin::kWinBridge}) {
    for (const bool through_flannel : {false, true}) {
      const std::string text = ConfigText({plugin, through_flannel}, Node()).value();
      for (const bool bridge : {false, true}) {
        NodeFacts facts = Node();
        facts.bridge = bridge;
        if (bridge == (plugin == Plugin::kWinBridge))
          EXPECT_THAT(Findings(text, facts), IsEmpty()) << text;
        else
          EXPECT_THAT(Findings(text, facts),
                      ElementsAre(HasSubstr(bridge ? "Backend.Type is host-gw: no pod can start"
                                                   : "Backend.Type is vxlan: no pod can start")))
              << text;
      }
    }
  }
}

// The file of rancher/rancher#19230, and others: databases beside the nodes did not answer pods.
TEST(ExplainConfigTest, AnExceptionForTheNodesNetworkIsNamed) {
  NodeFacts facts;
  facts.network = "cbr0";
  facts.cluster = {*IpPrefix::Parse("10.42.0.0/16")};
  facts.services = {*IpPrefix::Parse("10.43.0.0/16")};
  facts.node = IpAddress::Parse("10.73.2.224");
  const auto found = [&](const std::string& exceptions) {
    const auto all = Findings(
        R"({"cniVersion":"0.2.0","name":"cbr0","type":"flannel","delegate":{"type":"win-bridge",)"
        R"("apiVersion":2,"policies":[{"name":"EndpointPolicy","value":{"Type":"OutBoundNAT",)" +
            exceptions + "}}]}}",
        facts);
    return std::ranges::count_if(all, [](const std::string& each) {
      return each.find("of the machines there only those with a route to pods") != each.npos;
    });
  };
  const struct {
    const char* third;
    int findings;
  } rows[] = {{"10.73.2.0/24", 1},   {"10.73.2.224/31", 1}, {"10.0.0.0/8", 1},
              {"10.73.2.224/32", 0}, {"10.73.2.5/32", 0},   {"172.16.0.0/12", 0}};
  for (const auto& row : rows) {
    const std::string list =
        std::string(R"(["10.42.0.0/16","10.43.0.0/16",")") + row.third + R"("])";
    EXPECT_EQ(found(R"("ExceptionList":)" + list), row.findings) << row.third;
    EXPECT_EQ(found(R"("Settings":{"Exceptions":)" + list + "}"), row.findings) << row.third;
  }
  facts.cluster = {*IpPrefix::Parse("10.0.0.0/8")};  // the nodes are in it
  EXPECT_EQ(found(R"("Settings":{"Exceptions":["10.0.0.0/8"]})"), 0);
  std::swap(facts.cluster, facts.services);
  EXPECT_EQ(found(R"("Settings":{"Exceptions":["10.0.0.0/8"]})"), 0);
}

TEST(ExplainConfigTest, LoopbackDsrIsAFindingWhereHnsHasNoneAndNamedWhereItCannotBeAsked) {
  NodeFacts facts = Node();
  const std::string overlay = ConfigText({Plugin::kWinOverlay, false, true}, facts).value();
  const std::string sdn = ConfigText({Plugin::kSdnOverlay, false, true}, facts).value();
  facts.dsr = false;
  EXPECT_THAT(Findings(overlay, facts), ElementsAre(HasSubstr("this HNS has no DSR")));
  EXPECT_THAT(Findings(sdn, facts), ElementsAre(HasSubstr("optionalFlags.loopbackDSR: this HNS")));
  const auto skipped = [&facts](const std::string& text) {
    return std::ranges::count(*ExplainConfig(text, facts), true, &Remark::skipped);
  };
  facts.dsr.reset();
  for (const std::string& text : {overlay, sdn}) EXPECT_EQ(skipped(text), 1) << text;
  std::string off = overlay;
  off.replace(off.find("\"loopbackDSR\": true"), 19, "\"loopbackDSR\": false");
  EXPECT_EQ(skipped(off), 0);
  facts.dsr = false;
  EXPECT_THAT(Findings(off, facts), IsEmpty());
  facts.dsr = true;
  EXPECT_EQ(skipped(overlay), 0);
}

TEST(ExplainConfigTest, FlannelReadsADefaultFileAndCallsADefaultPlugin) {
  constexpr char kFlannel[] = R"({"name":"flannel.4096","cniVersion":"0.4.0","type":"flannel"})";
  NodeFacts facts = Node();
  facts.bridge = false;
  facts.subnet_file = R"(D:\subnet.env)";
  EXPECT_THAT(Findings(kFlannel, facts),
              ElementsAre(R"(subnetFile: flanneld writes D:\subnet.env; set subnetFile to that)",
                          HasSubstr("delegate.type: net-conf's Backend.Type is vxlan")));
  EXPECT_THAT(*ExplainConfig(R"({"name":"a","type":"flannel","subnetFile":"/a.env"})", NodeFacts()),
              ::testing::Contains(::testing::Field(&Remark::member, "subnetFile")));
}

TEST(ExplainConfigTest, AnEmptyFolderIsNotTheRoot) {
  NodeFacts facts = Node();
  facts.store = R"(C:\)";
  Json config = Json::parse(ConfigText({}, facts).value());
  config["plugins"][0]["ipam"]["dataDir"] = "";
  EXPECT_THAT(Findings(config.dump(), facts),
              ElementsAre(HasSubstr("flanneld reserves kube-proxy's source VIP in C:\\: ")));
}

// A list and flannel's delegate fill Go maps; a plugin, and a file without a list, Go structs.
TEST(ExplainConfigTest, KeysAreReadAsGoReadsThem) {
  const auto with = [](ConfigChoice choice, std::string_view key, std::string_view other) {
    std::string text = ConfigText(choice, Node()).value();
    const std::size_t at = text.find(key);
    return at == text.npos ? "" : text.replace(at, key.size(), other);
  };
  EXPECT_THAT(
      Findings(with({}, R"("name": "flannel.4096")", R"("name": "x", "NAME": "flannel.4096")")),
      ElementsAre(HasSubstr("flanneld's network is flannel.4096")));
  EXPECT_THAT(
      Findings(with({}, R"("name": "flannel.4096")", R"("name": "x", "name": "flannel.4096")")),
      IsEmpty());
  EXPECT_THAT(Findings(with({}, R"("plugins")", R"("Plugins")")),
              ElementsAre(HasSubstr("plugins: none")));
  EXPECT_THAT(Findings(with({}, R"("type": "win-overlay")", R"("TYPE": "win-overlay")")),
              IsEmpty());
  EXPECT_THAT(Findings(with({}, R"("apiVersion": 2)",
                            R"("apiVersion": 2, "ApiVersion": 1, "apiversion": null)")),
              IsEmpty())
      << "libcni sorts them";
  const ConfigChoice flannel{Plugin::kSdnOverlay, true};
  EXPECT_THAT(Findings(with(flannel, R"("type": "sdnoverlay")", R"("Type": "sdnoverlay")")),
              ::testing::Contains(HasSubstr("AdditionalArgs: win-bridge does not read it")));
  EXPECT_THAT(Findings(R"({"Name":"flannel.4096","CNIVersion":"0.3.1","Type":"azure-vnet"})"),
              IsEmpty());
}

// What the name's end says, containerd believes.
TEST(ExplainConfigTest, AFileIsReadAsItsNameSays) {
  const std::string list = ConfigText({}, Node()).value();
  const std::string single = Json::parse(list)["plugins"][0].dump().insert(
      1, R"("name":"flannel.4096","cniVersion":"1.0.0",)");
  EXPECT_THAT(Findings(list, Node(), "10-flannel.conflist"), IsEmpty());
  for (const char* const name : {"10-flannel.conf", "10-flannel.json"}) {
    EXPECT_THAT(Findings(single, Node(), name), IsEmpty()) << name;
    EXPECT_THAT(Findings(list, Node(), name), ElementsAre(HasSubstr("files named .conflist alone")))
        << name;
  }
  EXPECT_THAT(Findings(std::string(single).insert(1, R"("plugins":[],)"), Node(), "a.conf"),
              IsEmpty());
  EXPECT_THAT(Findings(R"({"name":"flannel.4096","cniVersion":"1.0.0"})", Node(), "a.conf"),
              ElementsAre(HasSubstr("plugins: none: containerd refuses the file")));
  EXPECT_THAT(Findings(single, Node(), "10-flannel.conflist"),
              ElementsAre(HasSubstr("plugins: none: containerd refuses the file")));
  for (const char* const name : {"", "config.txt"}) {
    EXPECT_THAT(Findings(list, Node(), name), IsEmpty()) << name;
    EXPECT_THAT(Findings(single, Node(), name), IsEmpty()) << name;
  }
}

TEST(ExplainConfigTest, EncodingsAndEscapesAreThoseOfGo) {
  const std::string text = ConfigText({}, Node()).value();
  EXPECT_THAT(Findings("\xef\xbb\xbf" + text), ElementsAre(HasSubstr("byte order mark")));
  EXPECT_THAT(Findings(std::string("\xff\xfe{\0", 4)), ElementsAre(HasSubstr("UTF-16")));
  for (const char* const note : {"caf\xe9", "\\ud800", "\\udc00\\ud800", "\\ud83d\\ude00"}) {
    std::string noted = text;
    noted.insert(1, std::string("\"note\":\"") + note + "\",");
    EXPECT_THAT(Findings(noted), IsEmpty()) << note;
  }
  EXPECT_FALSE(ExplainConfig("{\"a\":\"\\x41\"}", Node()).ok());
}

// Members whose content nothing here judges.
std::vector<std::string> Skipped(std::string_view text) {
  std::vector<std::string> members;
  const auto remarks = ExplainConfig(text, Node());
  for (const Remark& each : *remarks)
    if (each.skipped) members.push_back(each.member + " " + each.value);
  return members;
}

TEST(ExplainConfigTest, OtherPluginsAreNotJudgedAndNamed) {
  EXPECT_THAT(Findings(R"({"name":"flannel.4096","cniVersion":"0.3.1","type":"azure-vnet"})"),
              IsEmpty());
  EXPECT_THAT(Skipped(R"({"name":"flannel.4096","cniVersion":"0.3.1","type":"azure-vnet"})"),
              ElementsAre("type \"azure-vnet\""));
  EXPECT_THAT(
      Skipped(R"({"name":"a","plugins":[{"type":"win-overlay","ipam":{"type":"dhcp"}},
                          {"type":"flannel","delegate":{"type":"sdnbridge"}}]})"),
      ElementsAre("plugins[0].ipam.type \"dhcp\"", "plugins[1].delegate.type \"sdnbridge\""));
  EXPECT_THAT(Skipped(R"({"name":"a","plugins":[{"type":"win-overlay","policies":
                          [{"name":"EndpointPolicy","value":{"type":"ACL"}}]}]})"),
              ElementsAre("plugins[0].policies[0] \"ACL\""));
  EXPECT_THAT(Skipped(ConfigText({}, Node()).value()), IsEmpty());
  EXPECT_THAT(Findings(R"({"name":"flannel.4096","cniVersion":"0.3.1","plugins":[7]})"),
              ElementsAre(HasSubstr("plugins[0].type: it is missing")));
}

TEST(ExplainConfigTest, WhatIsNoJsonIsAnError) {
  for (const char* const text : {"", "{", "[]", "7", "{\"a\":1}}"})
    EXPECT_FALSE(ExplainConfig(text, Node()).ok()) << text;
}

TEST(PluginsOfTest, NamesEachProgramOnce) {
  EXPECT_THAT(PluginsOf(ConfigText({}, Node()).value()), ElementsAre("win-overlay", "host-local"));
  EXPECT_THAT(PluginsOf(ConfigText({Plugin::kSdnOverlay, true}, Node()).value()),
              ElementsAre("flannel", "sdnoverlay", "host-local"));
  EXPECT_THAT(PluginsOf(R"({"type":"win-bridge","ipam":{"type":"host-local"}})"),
              ElementsAre("win-bridge", "host-local"));
  EXPECT_THAT(PluginsOf(R"({"plugins":[{"type":"a","ipam":{"type":"dhcp"}},
                                       {"type":"b","ipam":{"type":"dhcp"}}]})"),
              ElementsAre("a", "dhcp", "b"));
  EXPECT_THAT(PluginsOf(R"({"type":"a","plugins":7})"), ElementsAre("a"));
  for (const char* const text : {"{", R"({"name":"a"})"}) EXPECT_THAT(PluginsOf(text), IsEmpty());
}

}  // namespace
}  // namespace weft::cni
