// SPDX-License-Identifier: Apache-2.0
// Calls to a host as text: what is written is read, what is no call is refused by name.
#include "control/emulator/remote/host_call.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/lease_makers.h"

namespace weft::emulator {
namespace {

using ::weft::testing::Address;
using ::weft::testing::Mac;
using ::weft::testing::Prefix;

host::Route SomeRoute() {
  host::Route route;
  route.destination = Prefix("10.244.2.0/24");
  route.gateway = Address("192.168.1.2");
  route.adapter_index = 11;
  route.onlink = true;
  route.metric = 5;
  route.source = Address("192.168.1.10");
  route.marked = true;
  return route;
}

TEST(HostCall, ACallRoundTrips) {
  HostCall all;
  all.operation = HostOperation::kAllowUdpIn;
  all.family = IpFamily::kV6;
  all.adapter = 11;
  all.mtu = 1450;
  all.address = {Address("fd00::1"), 64};
  all.routes = {SomeRoute()};
  all.on = true;
  all.static_ip = {{{Address("192.168.1.10"), 24}}, {Address("192.168.1.53")}, 5u};
  all.rule = {"OverlayTraffic4789UDP", 4789, {{*IpPrefix::Parse("192.168.1.0/24")}}};
  HostCall last;
  last.operation = HostOperation::kPutStaticIp;
  for (const HostCall& call : {HostCall(), all, last}) {
    const auto read = ParseHostCall(Encode(call));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, call);
  }
}

TEST(HostCall, AnAnswerRoundTrips) {
  host::Adapter adapter;
  adapter.index = 11;
  adapter.name = "vEthernet (Ethernet)";
  adapter.mtu = 1500;
  adapter.mac = Mac("00:15:5d:00:00:0a");
  adapter.addresses = {{Address("192.168.1.10"), 24}};
  HostAnswer all;
  all.status = absl::NotFoundError("cannot find it");
  all.adapters = {adapter};
  all.routes = {SomeRoute()};
  all.name_servers = {Address("192.168.1.53"), Address("fd00::53")};
  all.static_ip = {{{Address("192.168.1.10"), 24}}, {Address("192.168.1.53")}, 0u};
  all.results = {absl::OkStatus(), absl::InvalidArgumentError("no")};
  all.on = true;
  all.corrected = "it is disabled";
  all.owner = host::RuleOwner::kOther;
  for (const HostAnswer& answer : {HostAnswer(), all}) {
    const auto read = ParseHostAnswer(Encode(answer));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, answer);
  }
}

TEST(HostCall, InvalidTextIsRefused) {
  const struct {
    const char* text;
    const char* why;
  } rows[] = {
      {"", "host document: it is no JSON, or nests too deep; correct it"},
      {"[]", "host document: the document is not an object; correct it"},
      {"{}", "host document: call is none that this version knows; correct it"},
      {R"({"call":"reboot"})", "host document: call is none that this version knows; correct it"},
      {R"({"call":"routes","adapter":-1})",
       "host document: adapter is not an unsigned number; correct it"},
      {R"({"call":"add-address","address":"10.0.0.1"})",
       "host document: address \"10.0.0.1\" is not an address with its prefix length; correct it"},
      {R"({"call":"put-routes","routes":[{"destination":"10.0.0.0/8","gateway":"fd00::1"}]})",
       "host document: routes[0].destination is of another family than the route's other "
       "addresses; correct it"},
      {R"({"call":"put-static-ip","static":{"addresses":["10.0.0.1"]}})",
       "host document: static.addresses[0] \"10.0.0.1\" is not an address with its prefix length; "
       "correct it"},
      {R"({"call":"allow-udp-in","rule":{"udpPort":65536}})",
       "host document: rule.udpPort exceeds 65535; correct it"},
      {R"({"call":"allow-udp-in","rule":"x"})", "host document: rule is not an object; correct it"},
      {R"({"call":"allow-udp-in","rule":{"sources":["10.0.0.1"]}})",
       "host document: rule.sources[0] \"10.0.0.1\" is not an address block; correct it"},
  };
  for (const auto& [text, why] : rows)
    EXPECT_EQ(ParseHostCall(text).status().message(), why) << text;
  EXPECT_EQ(ParseHostAnswer("").status().message(),
            "host document: it is no JSON, or nests too deep; correct it");
  EXPECT_EQ(ParseHostAnswer(R"({"owner":"mine"})").status().message(),
            "host document: owner is none that this version knows; correct it");
  EXPECT_EQ(ParseHostAnswer(R"({"code":99})").status().message(),
            "host document: code exceeds 16; correct it");
}

}  // namespace
}  // namespace weft::emulator
