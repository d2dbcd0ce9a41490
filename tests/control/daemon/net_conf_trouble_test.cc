// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/net_conf_trouble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/test_path.h"

namespace weft::daemon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kRunning[] =
    R"({"Network":"10.244.0.0/16","Backend":{"Type":"vxlan","VNI":4096,"Port":4789}})";

class NetConfTroubleTest : public ::testing::Test {
 protected:
  NetConfTroubleTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~NetConfTroubleTest() override { std::filesystem::remove_all(folder_); }
  std::string Path() const { return (folder_ / "net-conf.json").string(); }
  std::string TroubleOf(const std::string& text) const {
    std::ofstream(Path(), std::ios::binary) << text;
    return Look();
  }
  std::string Look() const { return NetConfTrouble(Path(), running_); }

  const std::filesystem::path folder_ = weft::testing::TestPath();
  const control::NetConf running_ =
      control::ParseNetConf(kRunning, "", control::kHnsDefaults).value();
};

TEST_F(NetConfTroubleTest, ThereIsNoneWhileItMeansWhatRuns) {
  for (const char* text : {
           kRunning,
           R"({ "network": "10.244.0.9/16", "Backend": {"port": 4789, "Type": "VXLAN"} })",
           R"({"Network":"10.244.0.0/16","Backend":{"Type":"vxlan"},"SubnetLen":24})",
           "\xEF\xBB\xBF"
           R"({"Network":"10.244.0.0/16","Backend":{"Type":"vxlan","VNI":4096,"Port":4789}})",
       })
    EXPECT_THAT(TroubleOf(text), IsEmpty()) << text;
}

TEST_F(NetConfTroubleTest, IPv6ThatWasLeftOutAtTheStartIsNoDifference) {
  constexpr char kDual[] =
      R"({"EnableIPv6":true,"Network":"10.244.0.0/16","IPv6Network":"fd00::/48",)"
      R"("Backend":{"Type":"vxlan","VNI":4096,"Port":4789}})";
  std::ofstream(Path(), std::ios::binary) << kDual;
  control::NetConf running = control::ParseNetConf(kDual, "", control::kHnsDefaults).value();
  control::LeaveOutIPv6(running);
  EXPECT_EQ(NetConfTrouble(Path(), running), "");
}

TEST_F(NetConfTroubleTest, ABrokenFileIsNamedWithPlaceAndCause) {
  const struct {
    const char *text, *place;
  } rows[] = {
      {"", "it is empty"},
      {"garbage", "line 1"},
      {"{\"Network\":\n\"10.244.0.0/16\",}", "line 2"},
      {R"({"Network":"10.244.0.0/33","Backend":{"Type":"vxlan"}})", "Network: \"10.244.0.0/33\""},
      {R"({"Network":"10.244.0.0/16","Backend":{"Type":"udp"}})", "Backend.Type: \"udp\""},
  };
  for (const auto& row : rows) {
    EXPECT_THAT(TroubleOf(row.text),
                AllOf(HasSubstr("net-conf " + Path()), HasSubstr(row.place),
                      HasSubstr("the configuration read at start stays in force")))
        << row.text;
  }
}

TEST_F(NetConfTroubleTest, EachDifferenceThatARestartWouldApplyIsTold) {
  for (
      const char* text : {
          R"({"Network":"10.245.0.0/16","Backend":{"Type":"vxlan","VNI":4096,"Port":4789}})",
          R"({"Network":"10.244.0.0/16","Backend":{"Type":"vxlan","VNI":4097,"Port":4789}})",
          R"({"Network":"10.244.0.0/16","Backend":{"Type":"vxlan","VNI":4096,"Port":8472}})",
          R"({"Network":"10.244.0.0/16","Backend":{"Type":"vxlan","MTU":1400}})",
          R"({"Network":"10.244.0.0/16","Backend":{"Type":"vxlan","Name":"other"}})",
          R"({"Network":"10.244.0.0/16","Backend":{"Type":"alloc"}})",
          R"({"EnableIPv4":false,"EnableIPv6":true,"IPv6Network":"fd00::/48","Backend":{"Type":"vxlan"}})",
          R"({"Network":"10.244.0.0/16","EnableIPv6":true,"IPv6Network":"fd00::/48","Backend":{"Type":"vxlan"}})",
      }) {
    EXPECT_THAT(TroubleOf(text), AllOf(HasSubstr(Path()), HasSubstr("stays in force"),
                                       HasSubstr("restart flanneld to apply it")))
        << text;
  }
}

TEST_F(NetConfTroubleTest, AMissingFileIsTold) {
  EXPECT_THAT(Look(), AllOf(HasSubstr(Path()), HasSubstr("stays in force; put the file back")));
}

TEST_F(NetConfTroubleTest, WhatIsNoFileIsTold) {
  std::filesystem::create_directories(Path());
  EXPECT_THAT(Look(), AllOf(HasSubstr(Path()), HasSubstr("stays in force; put the file back")));
}

}  // namespace
}  // namespace weft::daemon
