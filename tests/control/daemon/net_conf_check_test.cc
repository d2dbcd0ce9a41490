// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/net_conf_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "control/log.h"
#include "tests/support/lease_makers.h"
#include "tests/support/test_path.h"

namespace weft::daemon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::weft::testing::MakeLease;

constexpr char kRunning[] =
    R"({"Network":"10.244.0.0/16","Backend":{"Type":"vxlan","VNI":4096,"Port":4789}})";

std::string ConditionOf(const std::string& path, const control::NetConf& running) {
  NetConfFile file(path, running);
  file.Poll();
  return file.condition().text();
}

class NetConfConditionTest : public ::testing::Test {
 protected:
  NetConfConditionTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~NetConfConditionTest() override { std::filesystem::remove_all(folder_); }
  std::string Path() const { return (folder_ / "net-conf.json").string(); }
  std::string ConditionAfter(const std::string& text) const {
    std::ofstream(Path(), std::ios::binary) << text;
    return Poll();
  }
  std::string Poll() const { return ConditionOf(Path(), running_); }

  const std::filesystem::path folder_ = weft::testing::TestPath();
  const control::NetConf running_ =
      control::ParseNetConf(kRunning, "", control::kHnsDefaults).value();
};

TEST_F(NetConfConditionTest, NoConditionWhileTheFileMatches) {
  for (const char* text : {
           kRunning,
           R"({ "network": "10.244.0.9/16", "Backend": {"port": 4789, "Type": "VXLAN"} })",
           R"({"Network":"10.244.0.0/16","Backend":{"Type":"vxlan"},"SubnetLen":24})",
           "\xEF\xBB\xBF"
           R"({"Network":"10.244.0.0/16","Backend":{"Type":"vxlan","VNI":4096,"Port":4789}})",
       })
    EXPECT_THAT(ConditionAfter(text), IsEmpty()) << text;
}

TEST_F(NetConfConditionTest, IPv6ThatWasLeftOutAtTheStartIsNoDifference) {
  constexpr char kDual[] =
      R"({"EnableIPv6":true,"Network":"10.244.0.0/16","IPv6Network":"fd00::/48",)"
      R"("Backend":{"Type":"vxlan","VNI":4096,"Port":4789}})";
  std::ofstream(Path(), std::ios::binary) << kDual;
  control::NetConf running = control::ParseNetConf(kDual, "", control::kHnsDefaults).value();
  control::LeaveOutIPv6(running);
  EXPECT_EQ(ConditionOf(Path(), running), "");
}

TEST_F(NetConfConditionTest, ABrokenFileIsNamedWithPlaceAndCause) {
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
    EXPECT_THAT(ConditionAfter(row.text),
                AllOf(HasSubstr("net-conf " + Path()), HasSubstr(row.place),
                      HasSubstr("the configuration read at start stays in force")))
        << row.text;
  }
}

TEST_F(NetConfConditionTest, EachDifferenceThatARestartWouldApplyIsReported) {
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
    EXPECT_THAT(ConditionAfter(text), AllOf(HasSubstr(Path()), HasSubstr("stays in force"),
                                            HasSubstr("restart flanneld to apply it")))
        << text;
  }
}

TEST_F(NetConfConditionTest, AMissingFileIsReported) {
  EXPECT_THAT(Poll(), AllOf(HasSubstr(Path()), HasSubstr("stays in force; put the file back")));
}

TEST_F(NetConfConditionTest, ANonFileIsReported) {
  std::filesystem::create_directories(Path());
  EXPECT_THAT(Poll(), AllOf(HasSubstr(Path()), HasSubstr("stays in force; put the file back")));
}

class NetConfNetworkTest : public ::testing::Test {
 protected:
  NetConfNetworkTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~NetConfNetworkTest() override { std::filesystem::remove_all(folder_); }
  // "10.244.0.0/16", or "none".
  std::string After(const std::string& network) {
    Write(R"({"Network":")" + network + R"(","Backend":{"Type":"vxlan"}})");
    return Poll();
  }
  void Write(const std::string& text) const {
    std::ofstream(Path() + ".new", std::ios::binary) << text;
    std::filesystem::rename(Path() + ".new", Path());
  }
  std::string Poll(IpFamily family = IpFamily::kV4) {
    file_.Poll();
    return file_.network_of(family) ? file_.network_of(family)->ToString() : "none";
  }
  std::string Path() const { return (folder_ / "net-conf.json").string(); }

  const std::filesystem::path folder_ = weft::testing::TestPath();
  const control::NetConf running_ =
      control::ParseNetConf(R"({"Network":"10.244.0.0/16","Backend":{"Type":"vxlan"}})", "", {})
          .value();
  NetConfFile file_{Path(), running_};
};

TEST_F(NetConfNetworkTest, IsTheRunningOneUntilTheFileChanges) {
  EXPECT_EQ(Poll(), "10.244.0.0/16") << "without a file";
  EXPECT_EQ(After("10.244.0.0/16"), "10.244.0.0/16");
  EXPECT_EQ(After("10.244.0.0/15"), "10.244.0.0/15");
  EXPECT_EQ(After("10.0.0.0/8"), "10.0.0.0/8");
  EXPECT_EQ(Poll(IpFamily::kV6), "none");
}

TEST_F(NetConfNetworkTest, StaysWhileTheFileHasNone) {
  EXPECT_EQ(After("10.0.0.0/8"), "10.0.0.0/8");
  for (const char* text : {"", "garbage", R"({"Network":"10.244.0.0/33"})",
                           R"({"EnableIPv4":false,"EnableIPv6":true,"IPv6Network":"fd00::/48",)"
                           R"("Backend":{"Type":"vxlan"}})"}) {
    Write(text);
    EXPECT_EQ(Poll(), "10.0.0.0/8") << text;
  }
  std::filesystem::remove(Path());
  EXPECT_EQ(Poll(), "10.0.0.0/8");
  std::filesystem::create_directory(Path());
  EXPECT_EQ(Poll(), "10.0.0.0/8");
}

TEST_F(NetConfNetworkTest, TheEndOfADifferenceIsLoggedOnce) {
  ::testing::internal::CaptureStderr();
  control::StartLog(control::LogFormat::kKlog, 0);
  for (const char* network :
       {"10.244.0.0/16", "10.245.0.0/16", "10.246.0.0/16", "10.244.0.0/16", "10.244.0.0/16"})
    After(network);
  const std::string log = ::testing::internal::GetCapturedStderr();
  const std::size_t at = log.find("matches the running configuration again");
  EXPECT_GT(at, log.find("differs from the running configuration"));
  EXPECT_EQ(at, log.rfind("matches the running configuration again")) << log;
  EXPECT_NE(at, log.npos);
}

class VniConditionTest : public ::testing::Test {
 protected:
  VniConditionTest() {
    lease::OwnIdentity own;
    own.node_name = "us";
    own.backend_type = "vxlan";
    own.vni = *Vni::From(1);
    table_.SetOwn(own);
    conf_.vni = *Vni::From(1);
  }
  void Add(const std::string& name, const std::string& subnet, const std::string& address,
           std::optional<std::uint32_t> vni, const std::string& backend = "vxlan") {
    lease::Lease lease = MakeLease(name, subnet, address);
    lease.backend_type = backend;
    lease.v4->vni = vni;
    table_.Upsert(lease);
  }
  std::string ConditionNow() const { return VniCondition(conf_, table_, true); }

  lease::LeaseTable table_;
  control::NetConf conf_;
};

TEST_F(VniConditionTest, WhenNoOtherNodeUsesOurs) {
  EXPECT_EQ(ConditionNow(), "");
  Add("us", "10.244.0.0/24", "192.0.2.9", 7);
  EXPECT_EQ(ConditionNow(), "") << "our own, as yet";
  Add("a", "10.244.1.0/24", "192.0.2.1", 4096);
  EXPECT_THAT(ConditionNow(),
              HasSubstr("our VNI 1 is used by none of the 1 other node (a publishes 4096)"));
  Add("b", "10.244.2.0/24", "192.0.2.2", 4097);
  EXPECT_THAT(ConditionNow(), AllOf(HasSubstr("none of the 2 other nodes (a publishes 4096)"),
                                    HasSubstr("write the same Backend.VNI")));
  Add("without", "10.244.3.0/24", "192.0.2.3", std::nullopt);
  Add("host-gw", "10.244.4.0/24", "192.0.2.4", std::nullopt, "host-gw");
  EXPECT_THAT(ConditionNow(), HasSubstr("none of the 2 other nodes"));
}

TEST_F(VniConditionTest, OneThatUsesItEndsTheCondition) {
  Add("a", "10.244.1.0/24", "192.0.2.1", 4096);
  Add("b", "10.244.2.0/24", "192.0.2.2", 1);
  EXPECT_EQ(ConditionNow(), "");
}

// Its Network is used whatever else is wrong with the file.
TEST_F(VniConditionTest, AnUnusableOneEndsItToo) {
  Add("a", "10.244.1.0/24", "192.0.2.1", 4096);
  lease::Lease half = MakeLease("b", "10.244.2.0/24", "192.0.2.2");
  half.v4->vni = 1;
  half.v4->vtep_mac = std::nullopt;
  table_.Upsert(half);
  EXPECT_EQ(ConditionNow(), "");
}

TEST_F(VniConditionTest, ANodeOfTwoFamiliesIsOneNode) {
  lease::Lease both = MakeLease("a", "10.244.1.0/24", "192.0.2.1");
  both.v6 = weft::testing::HalfLease("fd00:10:244:1::/64", "2001:db8::1");
  table_.Upsert(both);
  EXPECT_THAT(ConditionNow(), HasSubstr("none of the 1 other node ("));
}

// The first of a long list that comes piece by piece.
TEST_F(VniConditionTest, NotBeforeAllNodesAreKnown) {
  Add("a", "10.244.1.0/24", "192.0.2.1", 4096);
  EXPECT_EQ(VniCondition(conf_, table_, false), "");
}

TEST_F(VniConditionTest, OnlyUnderVxlan) {
  Add("a", "10.244.1.0/24", "192.0.2.1", 4096);
  conf_.type = control::BackendType::kHostGw;
  EXPECT_EQ(ConditionNow(), "");
}

}  // namespace
}  // namespace weft::daemon
