// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/vni_trouble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/lease_makers.h"

namespace weft::daemon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::weft::testing::MakeLease;

class VniTroubleTest : public ::testing::Test {
 protected:
  VniTroubleTest() {
    lease::OwnIdentity own;
    own.node_name = "us";
    own.backend_type = "vxlan";
    own.vni = *Vni::Of(1);
    table_.SetOwn(own);
    conf_.vni = *Vni::Of(1);
  }
  void Add(const std::string& name, const std::string& subnet, const std::string& address,
           std::optional<std::uint32_t> vni, const std::string& backend = "vxlan") {
    lease::Lease lease = MakeLease(name, subnet, address);
    lease.backend_type = backend;
    lease.v4->vni = vni;
    table_.Upsert(lease);
  }
  std::string TroubleNow() const { return VniTrouble(conf_, table_, true); }

  lease::LeaseTable table_;
  control::NetConf conf_;
};

TEST_F(VniTroubleTest, WhenNoOtherNodeUsesOurs) {
  EXPECT_EQ(TroubleNow(), "");
  Add("us", "10.244.0.0/24", "192.0.2.9", 7);
  EXPECT_EQ(TroubleNow(), "") << "our own, as yet";
  Add("a", "10.244.1.0/24", "192.0.2.1", 4096);
  EXPECT_THAT(TroubleNow(),
              HasSubstr("our VNI 1 is used by none of the 1 other node (a publishes 4096)"));
  Add("b", "10.244.2.0/24", "192.0.2.2", 4097);
  EXPECT_THAT(TroubleNow(), AllOf(HasSubstr("none of the 2 other nodes (a publishes 4096)"),
                                  HasSubstr("write the same Backend.VNI")));
  Add("without", "10.244.3.0/24", "192.0.2.3", std::nullopt);
  Add("host-gw", "10.244.4.0/24", "192.0.2.4", std::nullopt, "host-gw");
  EXPECT_THAT(TroubleNow(), HasSubstr("none of the 2 other nodes"));
}

TEST_F(VniTroubleTest, OneThatUsesItEndsTheTrouble) {
  Add("a", "10.244.1.0/24", "192.0.2.1", 4096);
  Add("b", "10.244.2.0/24", "192.0.2.2", 1);
  EXPECT_EQ(TroubleNow(), "");
}

// It counts whatever else is wrong with it.
TEST_F(VniTroubleTest, AlsoOneThatCannotBeUsed) {
  Add("a", "10.244.1.0/24", "192.0.2.1", 4096);
  lease::Lease half = MakeLease("b", "10.244.2.0/24", "192.0.2.2");
  half.v4->vni = 1;
  half.v4->vtep_mac = std::nullopt;
  table_.Upsert(half);
  EXPECT_EQ(TroubleNow(), "");
}

TEST_F(VniTroubleTest, ANodeOfTwoFamiliesIsOneNode) {
  lease::Lease both = MakeLease("a", "10.244.1.0/24", "192.0.2.1");
  both.v6 = weft::testing::HalfLease("fd00:10:244:1::/64", "2001:db8::1");
  table_.Upsert(both);
  EXPECT_THAT(TroubleNow(), HasSubstr("none of the 1 other node ("));
}

// The first of a long list that comes piece by piece.
TEST_F(VniTroubleTest, NotBeforeAllNodesAreKnown) {
  Add("a", "10.244.1.0/24", "192.0.2.1", 4096);
  EXPECT_EQ(VniTrouble(conf_, table_, false), "");
}

TEST_F(VniTroubleTest, OnlyUnderVxlan) {
  Add("a", "10.244.1.0/24", "192.0.2.1", 4096);
  conf_.type = control::BackendType::kHostGw;
  EXPECT_EQ(TroubleNow(), "");
}

}  // namespace
}  // namespace weft::daemon
