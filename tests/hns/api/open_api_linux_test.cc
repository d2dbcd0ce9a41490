// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hns/api/api.h"

namespace weft::hns {
namespace {

TEST(OpenApiTest, LinuxHasNoneAndNamesTheNextStep) {
  const auto api = OpenApi();
  EXPECT_EQ(api.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(api.status().message()), ::testing::HasSubstr("--hns=emulator:PATH"));
}

}  // namespace
}  // namespace weft::hns
