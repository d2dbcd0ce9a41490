// SPDX-License-Identifier: Apache-2.0
#include "control/node/subnet_env.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/test_path.h"

namespace weft::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

IpPrefix P(std::string_view text) { return *IpPrefix::Parse(text); }

const SubnetEnvFamily kV4{P("10.244.0.0/16"), P("10.244.3.0/24")};
const SubnetEnvFamily kV6{P("fd00:10:244::/56"), P("fd00:10:244:3::/64")};

TEST(SubnetEnvText, V4) {
  EXPECT_EQ(Text({kV4, std::nullopt, *InnerMtu::From(1450), true}),
            "FLANNEL_NETWORK=10.244.0.0/16\n"
            "FLANNEL_SUBNET=10.244.3.1/24\n"
            "FLANNEL_MTU=1450\n"
            "FLANNEL_IPMASQ=true\n");
}

TEST(SubnetEnvText, V6AloneLeavesTheV4PairOut) {
  EXPECT_EQ(Text({std::nullopt, kV6, *InnerMtu::From(1430), false}),
            "FLANNEL_IPV6_NETWORK=fd00:10:244::/56\n"
            "FLANNEL_IPV6_SUBNET=fd00:10:244:3::1/64\n"
            "FLANNEL_MTU=1430\n"
            "FLANNEL_IPMASQ=false\n");
}

TEST(SubnetEnvText, DualStack) {
  EXPECT_EQ(Text({kV4, kV6, *InnerMtu::From(1430), false}),
            "FLANNEL_NETWORK=10.244.0.0/16\n"
            "FLANNEL_SUBNET=10.244.3.1/24\n"
            "FLANNEL_IPV6_NETWORK=fd00:10:244::/56\n"
            "FLANNEL_IPV6_SUBNET=fd00:10:244:3::1/64\n"
            "FLANNEL_MTU=1430\n"
            "FLANNEL_IPMASQ=false\n");
}

// Upstream's rows (9.1).
TEST(SubnetEnvReader, AListDropsInvalidPrefixes) {
  EXPECT_THAT(
      ReadPrefixes("FLANNEL_SUBNET=10.244.1.0/24,not-a-cidr,10.244.2.0/24\n", "FLANNEL_SUBNET"),
      ElementsAre(P("10.244.1.0/24"), P("10.244.2.0/24")));
  EXPECT_THAT(ReadPrefixes("FLANNEL_IPV6_SUBNET=fd00:1::/64,not-a-cidr,fd00:2::/64\n",
                           "FLANNEL_IPV6_SUBNET"),
              ElementsAre(P("fd00:1::/64"), P("fd00:2::/64")));
}

TEST(SubnetEnvReader, UnreadableTextIsEmpty) {
  EXPECT_THAT(ReadPrefixes("FLANNEL_IPV6_SUBNET=not-a-cidr\n", "FLANNEL_IPV6_SUBNET"), IsEmpty());
  for (const char* text : {"FLANNEL_SUBNET=not-a-cidr\n", "", "\n\n", "FLANNEL_SUBNET",
                           "FLANNEL_SUBNET=", "=10.0.0.0/8", "#FLANNEL_SUBNET=10.0.0.0/8"}) {
    EXPECT_THAT(ReadPrefixes(text, "FLANNEL_SUBNET"), IsEmpty()) << text;
  }
}

TEST(SubnetEnvReader, KeysAreWhole) {
  const std::string text =
      "FLANNEL_SUBNET_X=10.9.0.0/24\nXFLANNEL_SUBNET=10.8.0.0/24\nFLANNEL_SUBNET=10.244.3.1/24\r\n";
  EXPECT_THAT(ReadPrefixes(text, "FLANNEL_SUBNET"), ElementsAre(P("10.244.3.0/24")));
}

TEST(SubnetEnvReader, ReadsWhatIsWritten) {
  const std::string text = Text({kV4, kV6, *InnerMtu::From(1430), true});
  EXPECT_THAT(ReadPrefixes(text, "FLANNEL_NETWORK"), ElementsAre(kV4.network));
  EXPECT_THAT(ReadPrefixes(text, "FLANNEL_SUBNET"), ElementsAre(kV4.subnet));
  EXPECT_THAT(ReadPrefixes(text, "FLANNEL_IPV6_NETWORK"), ElementsAre(kV6.network));
  EXPECT_THAT(ReadPrefixes(text, "FLANNEL_IPV6_SUBNET"), ElementsAre(kV6.subnet));
}

TEST(ReadOwnSubnetTest, TheIpv4SubnetOrWhyThereIsNone) {
  const std::string path = weft::testing::TestPath().string();
  std::ofstream(path) << "FLANNEL_SUBNET=10.244.3.1/24\n";
  EXPECT_EQ(ReadOwnSubnet(path).value(), P("10.244.3.0/24"));
  for (const char* const text : {"", "FLANNEL_SUBNET=x\n", "FLANNEL_SUBNET=fd00:1::/64\n"}) {
    std::ofstream(path) << text;
    EXPECT_EQ(ReadOwnSubnet(path).status().message(),
              path +
                  " names no subnet of this node; start flanneld, or name its file with "
                  "--subnet-file");
  }
  std::filesystem::remove(path);
  EXPECT_EQ(ReadOwnSubnet(path).status().message(),
            path +
                " names no subnet of this node (it does not exist); start flanneld, or name "
                "its file with --subnet-file");
}

}  // namespace
}  // namespace weft::node
