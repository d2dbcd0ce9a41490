// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <string>

#include "gtest/gtest.h"
#include "hns/emulator/remote/remote_api.h"
#include "hns/emulator/remote/remote_server.h"
#include "tests/hns/emulator/remote/service_double.h"
#include "tests/support/test_path.h"

namespace weft::hns::emulator {
namespace {

TEST(UnixSocketTest, ServesAndGoesAndReplacesADeadOne) {
  const std::filesystem::path path = weft::testing::TestPath();
  ServiceDouble service;
  for (int round = 0; round < 2; ++round) {
    const auto server = RemoteServer::Start("unix:" + path.string(), service, nullptr);
    ASSERT_TRUE(server.ok()) << server.status();
    EXPECT_FALSE(RemoteServer::Start("unix:" + path.string(), service, nullptr).ok());
    EXPECT_TRUE(RemoteApi((*server)->address()).Enumerate(Kind::kNetwork, "").ok());
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace weft::hns::emulator
