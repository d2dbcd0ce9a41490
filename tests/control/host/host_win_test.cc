// SPDX-License-Identifier: Apache-2.0
// What Wine can test of writing: its iphlpapi.dll lacks the functions, its firewall is a stub. Real
// Windows would write, so the tests name only objects that do not exist.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/host/host.h"

namespace weft::host {
namespace {

constexpr std::uint32_t kNoAdapter = 4'000'000;

class WindowsHostTest : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<Host>> host = OpenHost();
    ASSERT_TRUE(host.ok()) << host.status();
    host_ = *std::move(host);
  }
  std::unique_ptr<Host> host_;
};

// The object, and either the missing function or the error of Windows.
TEST_F(WindowsHostTest, FailedWritesAreNamed) {
  Route route;
  route.destination = *IpPrefix::Parse("10.244.2.0/24");
  route.gateway = *IpAddress::Parse("192.0.2.2");
  route.adapter_index = kNoAdapter;
  const auto put = host_->PutRoutes({route, route});
  ASSERT_EQ(put.size(), 2u);
  EXPECT_THAT(
      std::string(put[1].message()),
      ::testing::StartsWith("cannot put route 10.244.2.0/24 via 192.0.2.2 on adapter 4000000: "));
  const absl::Status forwarding = host_->SetForwarding(kNoAdapter, IpFamily::kV4, true);
  EXPECT_THAT(std::string(forwarding.message()),
              ::testing::StartsWith("cannot set forwarding of adapter 4000000 for IPv4: "));
  const absl::Status read = host_->Forwarding(kNoAdapter, IpFamily::kV6).status();
  EXPECT_THAT(std::string(read.message()),
              ::testing::StartsWith("cannot read forwarding of adapter 4000000 for IPv6: "));
}

}  // namespace
}  // namespace weft::host
