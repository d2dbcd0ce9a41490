// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "control/admin/unix_address_linux.h"
#include "control/emulator/remote/open_hns.h"
#include "control/emulator/remote/remote_api.h"
#include "control/emulator/remote/remote_server.h"
#include "gtest/gtest.h"
#include "tests/control/emulator/remote/service_double.h"
#include "tests/support/test_path.h"

namespace weft::hns::emulator {
namespace {

TEST(RemoteServerLinuxTest, ItsSocketIsItsOwnersAndIsRemovedWithIt) {
  const std::string path = weft::testing::TestSocket();
  ServiceDouble service;
  for (int round = 0; round < 2; ++round) {
    const auto server = RemoteServer::Start(path, service, nullptr);
    ASSERT_TRUE(server.ok()) << server.status();
    struct stat info {};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777u, 0600u);
    EXPECT_FALSE(RemoteServer::Start(path, service, nullptr).ok());
    EXPECT_TRUE(RemoteApi(path).Enumerate(Kind::kNetwork, "").ok());
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(RemoteServerLinuxTest, ADescriptorThatIsMissingIsWaitedFor) {
  const std::string path = weft::testing::TestSocket();
  ServiceDouble service;
  const auto server = RemoteServer::Start(path, service, nullptr);
  ASSERT_TRUE(server.ok()) << server.status();
  const int client = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto address = admin::UnixAddress(path);
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none{0, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_EQ(::connect(client, admin::Generic(*address), sizeof *address), 0);
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  const std::string hello = Frame(Encode(Request()));
  EXPECT_EQ(::send(client, hello.data(), hello.size(), 0), static_cast<ssize_t>(hello.size()));
  char byte = 0;
  EXPECT_EQ(::recv(client, &byte, 1, 0), 1) << "it is accepted in the end";
  ::close(client);
}

TEST(OpenHnsTest, LinuxHasNone) {
  EXPECT_TRUE(absl::IsUnimplemented(weft::emulator::OpenHns(std::nullopt).status()));
}

}  // namespace
}  // namespace weft::hns::emulator
