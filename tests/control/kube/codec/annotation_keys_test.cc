// SPDX-License-Identifier: Apache-2.0
// Upstream v0.28.9's rows "annotations".
#include "control/kube/codec/annotation_keys.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft::kube {
namespace {

TEST(AnnotationKeys, Accepted) {
  const struct {
    const char* prefix;
    const char* backend_data;
  } rows[] = {
      {"flannel.alpha.coreos.com", "flannel.alpha.coreos.com/backend-data"},
      {"flannel.alpha.coreos.com/", "flannel.alpha.coreos.com/backend-data"},
      {"flannel.alpha.coreos.com/prefix", "flannel.alpha.coreos.com/prefix-backend-data"},
      {"flannel.alpha.coreos.com/prefix-", "flannel.alpha.coreos.com/prefix-backend-data"},
      {"org.com", "org.com/backend-data"},
      {"org9.com", "org9.com/backend-data"},
      {"org.com/9", "org.com/9-backend-data"},
      {"org_x.c-m/a_b", "org_x.c-m/a_b-backend-data"},
  };
  for (const auto& row : rows) {
    const auto keys = AnnotationKeys::Of(row.prefix);
    ASSERT_TRUE(keys.ok()) << row.prefix;
    EXPECT_EQ(keys->backend_data, row.backend_data);
  }
}

TEST(AnnotationKeys, Refused) {
  for (const char* prefix :
       {"org", "org/", "org/prefix", "org.COM", "org.com/PREFIX", "", "/", "-", ".com", "org..com",
        "org.com/a/b", "org.com//", "org.com/-", "org .com", "org.com\n", "org.com/{"}) {
    const auto keys = AnnotationKeys::Of(prefix);
    EXPECT_FALSE(keys.ok()) << prefix;
    EXPECT_THAT(std::string(keys.status().message()),
                ::testing::HasSubstr("write one like flannel.alpha.coreos.com"));
  }
}

TEST(AnnotationKeys, AllOfThem) {
  const AnnotationKeys keys;
  EXPECT_EQ(keys.subnet_manager, "flannel.alpha.coreos.com/kube-subnet-manager");
  EXPECT_EQ(keys.backend_type, "flannel.alpha.coreos.com/backend-type");
  EXPECT_EQ(keys.backend_data, "flannel.alpha.coreos.com/backend-data");
  EXPECT_EQ(keys.backend_v6_data, "flannel.alpha.coreos.com/backend-v6-data");
  EXPECT_EQ(keys.public_ip, "flannel.alpha.coreos.com/public-ip");
  EXPECT_EQ(keys.public_ipv6, "flannel.alpha.coreos.com/public-ipv6");
  EXPECT_EQ(keys.node_public_ip, "flannel.alpha.coreos.com/node-public-ip");
  EXPECT_EQ(keys.node_public_ipv6, "flannel.alpha.coreos.com/node-public-ipv6");
  EXPECT_EQ(keys.public_ip_overwrite, "flannel.alpha.coreos.com/public-ip-overwrite");
  EXPECT_EQ(keys.public_ipv6_overwrite, "flannel.alpha.coreos.com/public-ipv6-overwrite");
}

}  // namespace
}  // namespace weft::kube
