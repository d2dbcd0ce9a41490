// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <filesystem>
#include <memory>
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

TEST(UnixSocketTest, APathThatIsTooLongIsNamed) {
  const std::string path(200, 'x');
  EXPECT_EQ(Listen("unix:" + path).status().message(),
            path + " is too long for a socket; choose a shorter path");
}

TEST(StreamLinuxTest, NothingIsWrittenAfterTheEnd) {
  const std::unique_ptr<Listener> listener = Listen("tcp:127.0.0.1:0").value();
  const std::unique_ptr<Stream> stream = Connect(listener->address()).value();
  stream->Shutdown();
  EXPECT_FALSE(stream->Write("x"));
}

TEST(StreamLinuxTest, NoConnectionIsAcceptedWithoutADescriptor) {
  const std::unique_ptr<Listener> listener = Listen("tcp:127.0.0.1:0").value();
  const std::unique_ptr<Stream> stream = Connect(listener->address()).value();
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none{0, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const std::unique_ptr<Stream> accepted = listener->Accept();
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(accepted, nullptr);
}

}  // namespace
}  // namespace weft::hns::emulator
