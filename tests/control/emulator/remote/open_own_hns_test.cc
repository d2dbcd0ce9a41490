// SPDX-License-Identifier: Apache-2.0
// The HNS of flanneld.exe, which has no emulator.
#include "control/emulator/remote/open_hns.h"
#include "gmock/gmock.h"

namespace weft::emulator {
namespace {

TEST(OpenOwnHnsTest, ASocketIsRefusedAndTheMachinesHnsIsOpened) {
  EXPECT_THAT(std::string(OpenHns("/run/hns.sock").status().message()),
              ::testing::StartsWith("--hns=emulator:PATH is for Linux; on Windows an emulator"));
  EXPECT_EQ(OpenHns(std::nullopt).status(), hns::OpenApi().status());
}

}  // namespace
}  // namespace weft::emulator
