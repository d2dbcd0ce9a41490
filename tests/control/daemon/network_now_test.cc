// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/network_now.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/test_path.h"

namespace weft::daemon {
namespace {

class NetworkNowTest : public ::testing::Test {
 protected:
  NetworkNowTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~NetworkNowTest() override { std::filesystem::remove_all(folder_); }
  // "10.244.0.0/16", or "none".
  std::string After(const std::string& network) {
    Write(R"({"Network":")" + network + R"(","Backend":{"Type":"vxlan"}})");
    return Look();
  }
  void Write(const std::string& text) const {
    std::ofstream(Path() + ".new", std::ios::binary) << text;
    std::filesystem::rename(Path() + ".new", Path());
  }
  std::string Look(IpFamily family = IpFamily::kV4) {
    now_.Look();
    return now_.of(family) ? now_.of(family)->ToString() : "none";
  }
  std::string Path() const { return (folder_ / "net-conf.json").string(); }

  const std::filesystem::path folder_ = weft::testing::TestPath();
  NetworkNow now_{Path(), control::ParseNetConf(
                              R"({"Network":"10.244.0.0/16","Backend":{"Type":"vxlan"}})", "", {})
                              .value()};
};

TEST_F(NetworkNowTest, IsWhatRunsUntilTheFileSaysOtherwise) {
  EXPECT_EQ(Look(), "10.244.0.0/16") << "without a file";
  EXPECT_EQ(After("10.244.0.0/16"), "10.244.0.0/16");
  EXPECT_EQ(After("10.244.0.0/15"), "10.244.0.0/15");
  EXPECT_EQ(After("10.0.0.0/8"), "10.0.0.0/8");
  EXPECT_EQ(Look(IpFamily::kV6), "none");
}

TEST_F(NetworkNowTest, StaysWhileTheFileSaysNothing) {
  EXPECT_EQ(After("10.0.0.0/8"), "10.0.0.0/8");
  for (const char* text : {"", "garbage", R"({"Network":"10.244.0.0/33"})",
                           R"({"EnableIPv4":false,"EnableIPv6":true,"IPv6Network":"fd00::/48",)"
                           R"("Backend":{"Type":"vxlan"}})"}) {
    Write(text);
    EXPECT_EQ(Look(), "10.0.0.0/8") << text;
  }
  std::filesystem::remove(Path());
  EXPECT_EQ(Look(), "10.0.0.0/8");
  std::filesystem::create_directory(Path());
  EXPECT_EQ(Look(), "10.0.0.0/8");
}

}  // namespace
}  // namespace weft::daemon
