// SPDX-License-Identifier: Apache-2.0
#include "vxlan/mtu.h"

#include <gtest/gtest.h>

#include "vxlan/encapsulation.h"

namespace weft {
namespace {

TEST(Mtu, OverheadIsIpUdpVxlanAndInnerEthernet) {
  EXPECT_EQ(EncapsulationOverhead(IpFamily::kV4), 50u);
  EXPECT_EQ(EncapsulationOverhead(IpFamily::kV6), 70u);
}

TEST(Mtu, OverheadIsWhatATemplateStamps) {
  EXPECT_EQ(EncapsulationTemplate(EncapsulationSpec{}).size(),
            EncapsulationOverhead(IpFamily::kV4));
}

TEST(Mtu, InnerFromOuter) {
  EXPECT_EQ(OuterMtu::From(1500)->Inner(IpFamily::kV4).bytes(), 1450u);
  EXPECT_EQ(OuterMtu::From(1500)->Inner(IpFamily::kV6).bytes(), 1430u);
  EXPECT_EQ(OuterMtu::From(9000)->Inner(IpFamily::kV4).bytes(), 8950u);
}

TEST(Mtu, InnerRange) {
  EXPECT_FALSE(InnerMtu::From(67));
  EXPECT_TRUE(InnerMtu::From(68));
  EXPECT_TRUE(InnerMtu::From(65485));
  EXPECT_FALSE(InnerMtu::From(65486));
}

TEST(Mtu, OuterRangeLeavesAnInnerMtuInBothFamilies) {
  EXPECT_FALSE(OuterMtu::From(137));
  EXPECT_EQ(OuterMtu::From(138)->Inner(IpFamily::kV6).bytes(), 68u);
  EXPECT_EQ(OuterMtu::From(65535)->Inner(IpFamily::kV4).bytes(), 65485u);
  EXPECT_EQ(OuterMtu::From(65535)->Inner(IpFamily::kV6).bytes(), 65465u);
  EXPECT_FALSE(OuterMtu::From(65536));
}

TEST(Mtu, TheTwoKindsDoNotMix) {
  static_assert(!std::is_convertible_v<OuterMtu, InnerMtu>);
  static_assert(!std::is_convertible_v<InnerMtu, OuterMtu>);
  static_assert(!std::is_convertible_v<int, InnerMtu>);
}

}  // namespace
}  // namespace weft
