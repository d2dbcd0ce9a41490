// SPDX-License-Identifier: Apache-2.0
// flannelctl iface explain and plan --offline on adapters and routes of a network namespace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "tests/control/admin/running_server.h"
#include "tests/control/cli/call.h"
#include "tests/support/netns.h"

namespace weft::cli {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class HostNetnsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(EnterPrivateNetns(), "");
    ASSERT_EQ(AddQuietVeth(), "");
    ASSERT_EQ(RunIp("addr add 192.0.2.4/24 dev near"), "");
    ASSERT_EQ(RunIp("addr add 198.51.100.4/24 dev far"), "");
  }
  static void AddRoutes(const std::vector<std::string>& routes) {
    for (const std::string& each : routes) ASSERT_EQ(RunIp("route add " + each), "");
  }
  std::string Write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = folder_.path() / name;
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
  Outcome Plan(const std::string& conf, const std::string& backend,
               std::vector<std::string> words) const {
    words.insert(words.begin(),
                 {"plan", "--offline", "--", "--net-config-path=" + Write("net-conf.json", conf),
                  "--lease-source=file:" +
                      Write("nodes.json", absl::StrReplaceAll(
                                              SampleNodes(), {{"\"vxlan\"", '"' + backend + '"'}})),
                  "--subnet-file=" + (folder_.path() / "subnet.env").string(),
                  "--state-dir=" + folder_.path().string()});
    return Call(std::move(words));
  }

  admin::TemporaryFolder folder_;
};

TEST_F(HostNetnsTest, AnInterfaceHasTheDefaultRoutesThatLeaveThroughIt) {
  AddRoutes({"default via 192.0.2.9 dev near metric 100",
             "default dev near proto kernel metric 300",
             "10.9.0.0/16 via 192.0.2.9 dev near metric 7"});
  EXPECT_THAT(Call({"iface", "explain"}).out,
              AllOf(ContainsRegex("near +up +1500 +IPv4:100 +192.0.2.4/24 +taken\n"),
                    ContainsRegex("far +up +1500 +- +198.51.100.4/24 +-\n")));
}

TEST_F(HostNetnsTest, ThePlanNamesTheRoutesToPeers) {
  const auto plan = [this] {
    return Plan(R"({"Network":"10.244.0.0/16","Backend":{"Type":"host-gw"}})", "host-gw",
                {"--node-name=win-1", "--iface=near", "--dataplane=routes"})
        .out;
  };
  EXPECT_THAT(plan(), AllOf(HasSubstr("would put route 10.244.1.0/24 via 192.0.2.1 dev near\n"),
                            HasSubstr("would put route 10.244.2.0/24 via 192.0.2.2 dev near\n")));
  AddRoutes({"10.244.1.0/24 via 192.0.2.1 dev near proto 87",
             "10.244.1.0/24 via 192.0.2.77 dev near metric 9",
             "10.244.2.0/24 via 192.0.2.77 dev near",
             "10.244.2.0/24 via 192.0.2.2 dev near proto kernel metric 5",
             "10.244.2.0/24 via 192.0.2.2 dev far onlink metric 6",
             "blackhole 10.244.2.0/24 metric 7", "10.250.0.0/24 via 192.0.2.9 dev near proto 87",
             "10.251.0.0/24 dev near proto 87", "10.252.0.0/24 via 192.0.2.9 dev near"});
  Write("ledger.json", "damaged");
  const std::string out = plan();
  EXPECT_THAT(out,
              AllOf(HasSubstr("\nroute 10.244.1.0/24 via 192.0.2.1 dev near is kept\n"),
                    HasSubstr("\nwould put route 10.244.2.0/24 via 192.0.2.2 dev near, in place of "
                              "route 10.244.2.0/24 if that is flannel's\n"),
                    HasSubstr("\nwould delete route 10.250.0.0/24 via 192.0.2.9 dev near\n")));
  EXPECT_THAT(
      out, AllOf(Not(HasSubstr("delete route 10.244.")), Not(HasSubstr("delete route 10.251.")),
                 Not(HasSubstr("delete route 10.252.")), Not(HasSubstr("an earlier flanneld's"))));
}

TEST_F(HostNetnsTest, ThePlanRefusesALinkThatIsTooNarrowForIpv6) {
  ASSERT_EQ(RunIp("link add narrow mtu 1300 type veth peer name behind"), "");
  for (const char* const end : {"narrow", "behind"})
    ASSERT_EQ(RunIp(std::string("link set up dev ") + end), "");
  ASSERT_EQ(AddIp6("2001:db8::1/64", "narrow"), "");
  const Outcome outcome =
      Plan(R"({"EnableIPv4":false,"EnableIPv6":true,"IPv6Network":"fd00:244::/32",)"
           R"("Backend":{"Type":"vxlan","VNI":4096,"Port":4789}})",
           "vxlan", {"--node-name=linux-1", "--iface=narrow", "--dataplane=userspace"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("the MTU of narrow leaves 1230 bytes"));
}

}  // namespace
}  // namespace weft::cli
