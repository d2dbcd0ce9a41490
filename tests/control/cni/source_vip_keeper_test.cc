// SPDX-License-Identifier: Apache-2.0
#include "control/cni/source_vip_keeper.h"

#include <chrono>

#include "control/log.h"
#include "control/process_lock.h"
#include "tests/control/cni/store_folder.h"

namespace weft::cni {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class SourceVipKeeperTest : public StoreTest {
 protected:
  void Keep(const std::string& subnet = "10.244.1.0/24") {
    keeper_.Keep("flannel.4096", *IpPrefix::Parse(subnet), hns_, now_);
  }
  // What Keep logs a second later.
  std::string LogOfKeep(const std::string& subnet = "10.244.1.0/24") {
    now_ += seconds(1);
    ::testing::internal::CaptureStderr();
    control::StartLog(control::LogFormat::kKlog, 0);  // Windows' handle of stderr is another now
    Keep(subnet);
    return ::testing::internal::GetCapturedStderr();
  }
  std::string Address() const { return keeper_.address() ? keeper_.address()->ToString() : ""; }

  const std::filesystem::path file_ = root_ / "out" / "sourceVip.json";
  SourceVipKeeper keeper_{root_.string(), file_.string()};
  control::TimePoint now_{};
  SourceVipKeeper::InHns hns_{true, true};
};

TEST_F(SourceVipKeeperTest, ReservesAgainWhatAnotherProcessReleased) {
  Keep();
  EXPECT_EQ(Address(), "10.244.1.2");
  std::filesystem::remove(Folder() / "10.244.1.2");
  Write("10.244.1.2", "pod1\r\neth0");
  now_ += milliseconds(999);
  Keep();
  EXPECT_EQ(Address(), "10.244.1.2") << "read once a second";
  now_ += milliseconds(1);
  Keep();
  EXPECT_EQ(Address(), "10.244.1.3");
  EXPECT_EQ(Read(Folder() / "10.244.1.2"), "pod1\r\neth0");
}

TEST_F(SourceVipKeeperTest, FollowsAnotherPodCidrAtOnce) {
  Keep();
  Keep("10.244.7.0/24");
  EXPECT_EQ(Address(), "10.244.7.2");
  EXPECT_FALSE(std::filesystem::exists(Folder() / "10.244.1.2"));
}

// host-local's GC while no container lives releases every address, also what is lower.
TEST_F(SourceVipKeeperTest, TheSameAddressIsReservedAgain) {
  Write("10.244.1.2", "pod1\r\neth0");
  Keep();
  ASSERT_EQ(Address(), "10.244.1.3");
  std::filesystem::remove(Folder() / "10.244.1.2");
  std::filesystem::remove(Folder() / "10.244.1.3");
  {
    const auto gc = control::ProcessLock::TryTakeHostLocal((Folder() / "lock").string());
    ASSERT_TRUE(gc.ok()) << gc.status();
    LogOfKeep();
    EXPECT_EQ(Address(), "");
  }
  EXPECT_THAT(LogOfKeep(), Not(HasSubstr("restart kube-proxy")));
  EXPECT_EQ(Address(), "10.244.1.3");
  std::filesystem::remove(Folder() / "10.244.1.3");
  EXPECT_THAT(LogOfKeep(), Not(HasSubstr("is reserved")));
  EXPECT_TRUE(std::filesystem::exists(Folder() / "10.244.1.3"));
}

TEST_F(SourceVipKeeperTest, AnAddressThatMovedSaysWhoUsesTheOldOne) {
  constexpr char kCidr[] = "10.244.5.0/24";  // of no other test: the log repeats no warning
  Keep(kCidr);
  Write("10.244.5.2", "pod1\r\neth0");
  EXPECT_THAT(LogOfKeep(kCidr),
              HasSubstr("the source VIP moves from 10.244.5.2 to 10.244.5.3: restart kube-proxy, "
                        "which still uses 10.244.5.2\n"));
  EXPECT_THAT(LogOfKeep(kCidr), Not(HasSubstr("moves")));
  EXPECT_THAT(LogOfKeep("10.244.6.0/24"),
              HasSubstr("the source VIP moves from 10.244.5.3 to 10.244.6.2: restart kube-proxy"));
}

TEST_F(SourceVipKeeperTest, SoDoesOneThatMovedWhileNoFlanneldRan) {
  Write("10.244.8.2", kReservation);
  EXPECT_THAT(LogOfKeep("10.244.9.0/24"),
              HasSubstr("the source VIP moves from 10.244.8.2 to 10.244.9.2: restart kube-proxy"));
  EXPECT_FALSE(std::filesystem::exists(Folder() / "10.244.8.2"));
}

// Released while flanneld did not run.
TEST_F(SourceVipKeeperTest, WithoutAReservationKubeProxysAddressIsTaken) {
  hns_.known = false;
  Keep();
  EXPECT_EQ(Address(), "");
  EXPECT_TRUE(keeper_.awaits_used());
  Write("10.244.1.9", kReservation);
  Keep();
  EXPECT_EQ(Address(), "") << "read once a second";
  std::filesystem::remove(Folder() / "10.244.1.9");
  hns_.known = true;
  hns_.used = IpAddress::Parse("10.244.1.7");
  Keep();
  EXPECT_EQ(Address(), "10.244.1.7") << "at once";
  EXPECT_FALSE(keeper_.awaits_used());
}

TEST_F(SourceVipKeeperTest, AReservationOfBeforeNeedsNoAnswerOfHns) {
  hns_.known = false;
  Write("10.244.1.9", kReservation);
  Keep();
  EXPECT_EQ(Address(), "10.244.1.9");
  EXPECT_FALSE(keeper_.awaits_used());
}

// An endpoint that cannot be read must not leave the node without Services.
TEST_F(SourceVipKeeperTest, AnHnsThatDoesNotAnswerIsSaidAndAwaitedForHalfAMinute) {
  const auto pass = [this](int count) {
    for (int i = 0; i < count; ++i) {
      now_ += seconds(1);
      Keep();
    }
  };
  hns_ = {};
  pass(120);
  EXPECT_TRUE(keeper_.awaits_used()) << "without the network no kube-proxy runs";
  EXPECT_EQ(keeper_.condition().text(), "");
  hns_.exists = true;
  pass(5);
  EXPECT_EQ(keeper_.condition().text(), "");
  pass(25);
  EXPECT_TRUE(keeper_.awaits_used());
  EXPECT_THAT(keeper_.condition().text(),
              AllOf(HasSubstr("HNS does not list the endpoints of flannel.4096"),
                    HasSubstr("one is reserved after 30 s; "), HasSubstr("restart it")));
  pass(1);
  EXPECT_EQ(Address(), "10.244.1.2");
  EXPECT_FALSE(keeper_.awaits_used());
  EXPECT_EQ(keeper_.condition().text(), "");
}

TEST_F(SourceVipKeeperTest, AFailureIsAConditionUntilItIsOver) {
  std::filesystem::create_directories(root_);
  std::ofstream(Folder()) << "a file";
  hns_.known = false;
  Keep();
  EXPECT_EQ(Address(), "");
  EXPECT_THAT(keeper_.condition().text(),
              AllOf(HasSubstr("flannel.4096"), HasSubstr("kube-proxy has no source VIP")));
  std::filesystem::remove(Folder());
  hns_.known = true;
  now_ += seconds(1);
  Keep();
  EXPECT_EQ(Address(), "10.244.1.2");
  EXPECT_EQ(keeper_.condition().text(), "");
}

TEST_F(SourceVipKeeperTest, WithoutAPathNoFileIsWritten) {
  SourceVipKeeper keeper(root_.string(), "");
  keeper.Keep("flannel.4096", *IpPrefix::Parse("10.244.1.0/24"), hns_, now_);
  EXPECT_EQ(keeper.address(), IpAddress::Parse("10.244.1.2"));
  EXPECT_EQ(keeper.file_condition().text(), "");
}

TEST_F(SourceVipKeeperTest, TheFileIsKeptAndItsConditionIsItsOwn) {
  Keep();
  EXPECT_EQ(Address(), "10.244.1.2");
  EXPECT_THAT(keeper_.file_condition().text(),
              AllOf(HasSubstr("sourceVip.json"), HasSubstr("--source-vip-file")));
  EXPECT_EQ(keeper_.condition().text(), "");
  std::filesystem::create_directories(file_.parent_path());
  now_ += seconds(1);
  Keep();
  EXPECT_EQ(keeper_.file_condition().text(), "");
  EXPECT_THAT(Read(file_), HasSubstr("10.244.1.2/24"));
  std::ofstream(file_) << "{}";
  now_ += seconds(1);
  Keep();
  EXPECT_THAT(Read(file_), HasSubstr("10.244.1.2/24"));
  const auto written = std::filesystem::last_write_time(file_);
  now_ += seconds(1);
  Keep();
  EXPECT_EQ(std::filesystem::last_write_time(file_), written) << "not written without a change";
}

}  // namespace
}  // namespace weft::cni
