// SPDX-License-Identifier: Apache-2.0
#include "control/kube/publication.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/lease_makers.h"

namespace weft::kube {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using weft::testing::Address;
using weft::testing::Mac;

constexpr char kData[] = R"({"VNI":4096,"VtepMAC":"00:15:5d:8c:2f:93"})";
constexpr char kDataV6[] = R"({"VNI":4096,"VtepMAC":"5a:0c:11:22:33:44"})";

PublishedFamily V4() { return {Address("192.168.1.10"), Mac("00:15:5d:8c:2f:93")}; }
PublishedFamily V6() { return {Address("fd00:1::11"), Mac("5a:0c:11:22:33:44")}; }

Annotations Desired(const Publication& publication, const lease::OwnNode& node = {}) {
  std::vector<std::string> problems;
  Annotations desired = DesiredAnnotations(AnnotationKeys(), publication, node, problems);
  EXPECT_THAT(problems, IsEmpty());
  return desired;
}

TEST(Publication, VxlanAsUpstreamsWindowsNode) {
  EXPECT_THAT(Desired({.backend_type = "vxlan", .v4 = V4(), .v6 = {}}),
              ElementsAre(Pair("flannel.alpha.coreos.com/backend-data", kData),
                          Pair("flannel.alpha.coreos.com/backend-type", "vxlan"),
                          Pair("flannel.alpha.coreos.com/kube-subnet-manager", "true"),
                          Pair("flannel.alpha.coreos.com/public-ip", "192.168.1.10")));
}

TEST(Publication, DualStackAsUpstreamsLinuxNode) {
  EXPECT_THAT(Desired({.backend_type = "vxlan", .v4 = V4(), .v6 = V6()}),
              ElementsAre(Pair("flannel.alpha.coreos.com/backend-data", kData),
                          Pair("flannel.alpha.coreos.com/backend-type", "vxlan"),
                          Pair("flannel.alpha.coreos.com/backend-v6-data", kDataV6),
                          Pair("flannel.alpha.coreos.com/kube-subnet-manager", "true"),
                          Pair("flannel.alpha.coreos.com/public-ip", "192.168.1.10"),
                          Pair("flannel.alpha.coreos.com/public-ipv6", "fd00:1::11")));
}

TEST(Publication, OldIPv6ValuesAreRemovedWhereIPv6IsOff) {
  const Annotations desired =
      Desired({.backend_type = "vxlan", .v4 = V4(), .v6 = {}, .without_v6 = true});
  EXPECT_THAT(desired, Contains(Pair("flannel.alpha.coreos.com/backend-v6-data", "")));
  EXPECT_THAT(desired, Contains(Pair("flannel.alpha.coreos.com/public-ipv6", "")));
}

TEST(Publication, OtherBackendsHaveTheFourCharactersNull) {
  EXPECT_THAT(Desired({.backend_type = "host-gw",
                       .v4 = PublishedFamily{Address("192.168.1.10"), std::nullopt},
                       .v6 = PublishedFamily{Address("fd00:1::11"), std::nullopt}}),
              ElementsAre(Pair("flannel.alpha.coreos.com/backend-data", "null"),
                          Pair("flannel.alpha.coreos.com/backend-type", "host-gw"),
                          Pair("flannel.alpha.coreos.com/backend-v6-data", "null"),
                          Pair("flannel.alpha.coreos.com/kube-subnet-manager", "true"),
                          Pair("flannel.alpha.coreos.com/public-ip", "192.168.1.10"),
                          Pair("flannel.alpha.coreos.com/public-ipv6", "fd00:1::11")));
}

TEST(Publication, V6Only) {
  EXPECT_THAT(Desired({.backend_type = "vxlan", .v4 = {}, .v6 = V6()}),
              ElementsAre(Pair("flannel.alpha.coreos.com/backend-type", "vxlan"),
                          Pair("flannel.alpha.coreos.com/backend-v6-data", kDataV6),
                          Pair("flannel.alpha.coreos.com/kube-subnet-manager", "true"),
                          Pair("flannel.alpha.coreos.com/public-ipv6", "fd00:1::11")));
}

TEST(Publication, AnOverwriteReplacesTheDetectedAddressVerbatim) {
  lease::OwnNode node;
  node.v4.public_ip_overwrite = "172.18.0.2";
  node.v6.public_ip_overwrite = "FD00:2::0:1";
  const Annotations desired = Desired({.backend_type = "vxlan", .v4 = V4(), .v6 = V6()}, node);
  EXPECT_EQ(desired.at("flannel.alpha.coreos.com/public-ip"), "172.18.0.2");
  EXPECT_EQ(desired.at("flannel.alpha.coreos.com/public-ipv6"), "FD00:2::0:1");
}

TEST(Publication, AnOverwriteThatIsNoAddressOfItsFamilyIsRefusedByName) {
  for (const char* text : {"nat.example", "10.0.0.1/24", " 10.0.0.1", "fd00::1", "0.0.0.0",
                           "224.0.0.1", "255.255.255.255"}) {
    lease::OwnNode node;
    node.v4.public_ip_overwrite = text;
    std::vector<std::string> problems;
    const Annotations desired = DesiredAnnotations(
        AnnotationKeys(), {.backend_type = "vxlan", .v4 = V4(), .v6 = {}}, node, problems);
    EXPECT_EQ(desired.at("flannel.alpha.coreos.com/public-ip"), "192.168.1.10") << text;
    EXPECT_THAT(problems,
                ElementsAre(HasSubstr(std::string("annotation flannel.alpha.coreos.com/public-ip-"
                                                  "overwrite \"") +
                                      text +
                                      "\" is not an IPv4 address of one host: peers receive "
                                      "192.168.1.10 until it is corrected")));
  }
  for (const char* text : {"10.0.0.1", "::ffff:10.0.0.1", "::", "ff02::1", "fe80::1%eth0"}) {
    lease::OwnNode node;
    node.v6.public_ip_overwrite = text;
    std::vector<std::string> problems;
    DesiredAnnotations(AnnotationKeys(), {.backend_type = "vxlan", .v4 = {}, .v6 = V6()}, node,
                       problems);
    EXPECT_THAT(problems, ElementsAre(HasSubstr("public-ipv6-overwrite"))) << text;
  }
}

TEST(Publication, AnOverwriteOfAnUnusedFamilyIsNotInspected) {
  lease::OwnNode node;
  node.v6.public_ip_overwrite = "x";
  Desired({.backend_type = "vxlan", .v4 = V4(), .v6 = {}}, node);
}

TEST(Publication, CompleteWithAMacInEveryVxlanFamily) {
  const PublishedFamily bare = {Address("192.168.1.10"), std::nullopt};
  const PublishedFamily zero = {Address("192.168.1.10"), MacAddress()};
  const PublishedFamily group = {Address("192.168.1.10"), Mac("01:00:5e:00:00:01")};
  EXPECT_TRUE(IsComplete({.backend_type = "vxlan", .v4 = V4(), .v6 = {}}));
  EXPECT_TRUE(IsComplete({.backend_type = "vxlan", .v4 = V4(), .v6 = V6()}));
  EXPECT_TRUE(IsComplete({.backend_type = "vxlan", .v4 = {}, .v6 = V6()}));
  EXPECT_TRUE(IsComplete({.backend_type = "host-gw", .v4 = bare, .v6 = {}}));
  EXPECT_FALSE(IsComplete({.backend_type = "vxlan", .v4 = {}, .v6 = {}}));
  for (const PublishedFamily& family : {bare, zero, group}) {
    EXPECT_FALSE(IsComplete({.backend_type = "vxlan", .v4 = family, .v6 = {}}));
    EXPECT_FALSE(IsComplete({.backend_type = "vxlan", .v4 = family, .v6 = V6()}));
    EXPECT_FALSE(IsComplete({.backend_type = "vxlan", .v4 = V4(), .v6 = family}));
  }
}

TEST(Publication, ShownMeansEqualByteByByte) {
  lease::OwnNode node;
  node.managed = true;
  node.backend_type = "VXLAN";
  node.v4.backend_data = R"({"VtepMAC":""})";
  node.v4.public_ip = "x";
  node.v6.public_ip = "FD00::1";
  EXPECT_THAT(ShownAnnotations(AnnotationKeys(), node),
              ElementsAre(Pair("flannel.alpha.coreos.com/backend-data", R"({"VtepMAC":""})"),
                          Pair("flannel.alpha.coreos.com/backend-type", "VXLAN"),
                          Pair("flannel.alpha.coreos.com/backend-v6-data", ""),
                          Pair("flannel.alpha.coreos.com/kube-subnet-manager", "true"),
                          Pair("flannel.alpha.coreos.com/public-ip", "x"),
                          Pair("flannel.alpha.coreos.com/public-ipv6", "FD00::1")));
}

}  // namespace
}  // namespace weft::kube
