// SPDX-License-Identifier: Apache-2.0
#include "control/cni/source_vip_keeper.h"

#include <chrono>

#include "tests/control/cni/store_folder.h"

namespace weft::cni {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

class SourceVipKeeperTest : public StoreTest {
 protected:
  void Keep(const std::string& subnet = "10.244.1.0/24") {
    keeper_.Keep("flannel.4096", *IpPrefix::Parse(subnet), now_);
  }
  std::string Address() const { return keeper_.address() ? keeper_.address()->ToString() : ""; }

  const std::filesystem::path file_ = root_ / "out" / "sourceVip.json";
  SourceVipKeeper keeper_{root_.string(), file_.string()};
  control::TimePoint now_{};
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

TEST_F(SourceVipKeeperTest, ATroubleIsAConditionUntilItIsOver) {
  std::filesystem::create_directories(root_);
  std::ofstream(Folder()) << "a file";
  Keep();
  EXPECT_EQ(Address(), "");
  EXPECT_THAT(keeper_.condition().text(),
              AllOf(HasSubstr("flannel.4096"), HasSubstr("kube-proxy has no source VIP")));
  std::filesystem::remove(Folder());
  now_ += seconds(1);
  Keep();
  EXPECT_EQ(Address(), "10.244.1.2");
  EXPECT_EQ(keeper_.condition().text(), "");
}

TEST_F(SourceVipKeeperTest, TheFileIsKeptAndItsTroubleIsItsOwn) {
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
