// SPDX-License-Identifier: Apache-2.0
#include "vxlan/vni.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Vni, HoldsTwentyFourBitsAndRefusesMore) {
  EXPECT_EQ(Vni::From(0)->value(), 0u);
  EXPECT_EQ(Vni::From(4096), kFlannelWindowsVni);
  EXPECT_EQ(Vni::From(0xff'ffff)->value(), 0xff'ffffu);
  EXPECT_FALSE(Vni::From(0x100'0000));
  EXPECT_FALSE(Vni::From(0x1'0000'0001)) << "never truncated";
}

TEST(Vni, Compares) {
  EXPECT_LT(*Vni::From(1), *Vni::From(4096));
  EXPECT_NE(*Vni::From(1), *Vni::From(2));
}

}  // namespace
}  // namespace weft
